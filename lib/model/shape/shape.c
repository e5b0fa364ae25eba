/* Shape: presets, and models that are written as a text. */
#include "model/shape/shape.h"

#include "base/text/units.h"
#include "base/text/words.h"

#include <stddef.h>
#include <string.h>

#define FIELD_ROW(name, config, also, least, most, def, meaning)                                             \
    {#name, config, also, least, most, def, meaning, offsetof(struct pk_model_shape, name)},
const struct pk_model_shape_field pk_model_shape_fields[] = {PK_SHAPE_FIELDS(FIELD_ROW){0}};

/* Those of ddp-bucket and mixed-precision first. GPT-3: biases of every matrix (4 width + ff + width) and two LayerNorms of 2 width. Qwen2.5:
 * biases of queries, keys and values. */
const struct pk_model_shape_preset pk_model_shape_presets[] = {
    {"tiny", "layers=4,width=256,ff=1024,heads=4,vocab=10000", "presets of ddp-bucket"},
    {"small", "layers=12,width=768,ff=3072,heads=12,vocab=10000", "the reports"},
    {"large", "layers=36,width=1280,ff=5120,heads=20,vocab=10000", "the reports"},
    {"llama-3-8b", "layers=32,width=4096,ff=14336,heads=32,kv_heads=8,vocab=128256",
     "The Llama 3 Herd of Models, table 3"},
    {"llama-3-70b", "layers=80,width=8192,ff=28672,heads=64,kv_heads=8,vocab=128256",
     "The Llama 3 Herd of Models, table 3"},
    {"llama-3-405b", "layers=126,width=16384,ff=53248,heads=128,kv_heads=8,vocab=128256",
     "The Llama 3 Herd of Models, table 3"},
    {"gpt-3-175b",
     "layers=96,width=12288,ff=49152,heads=96,vocab=50257,positions=2048,ff_matrices=2,tied=1,"
     "block_vectors=159744,end_vectors=24576",
     "Brown et al. 2020, table 2.1"},
    {"qwen2.5-0.5b",
     "layers=24,width=896,ff=4864,heads=14,kv_heads=2,head_dim=64,vocab=151936,tied=1,block_vectors=2944",
     "config.json of Qwen2.5-0.5B"},
    {0},
};

enum { PRESETS_MAX = 32 };

static enum pk_code unknown_model(const char *text, struct pk_arena *a, struct pk_err *err)
{
    const char *names[PRESETS_MAX];
    size_t n = 0;
    for (; pk_model_shape_presets[n].name; n++)
        names[n] = pk_model_shape_presets[n].name;
    pk_fail(err, PK_E_USAGE, "there is no model '%.100s'", text);
    pk_why(err, "%s; or ffn:DxFxN, transformer:layers=..., or --config FILE",
           pk_suggest_text(a, text, names, n));
    return pk_fix(err, "--model llama-3-8b, or --model ffn:16384x53248x126");
}

static enum pk_code out_of_range(const struct pk_model_shape_field *f, int64_t v, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "%s: %lld is out of range", f->name, (long long)v);
    pk_why(err, "%s (%s) is an integer from %lld to %lld", f->name, f->meaning, (long long)f->least,
           (long long)f->most);
    return pk_fix(err, "give another %s", f->name);
}

static const struct pk_model_shape_field *find_field(const char *name)
{
    for (const struct pk_model_shape_field *f = pk_model_shape_fields; f->name; f++)
        if (!strcmp(f->name, name))
            return f;
    return NULL;
}

static void set_defaults(struct pk_model_shape *s, const char *name)
{
    *s = (struct pk_model_shape){.name = name};
    for (const struct pk_model_shape_field *f = pk_model_shape_fields; f->name; f++)
        *pk_model_shape_value(s, f) = f->def;
}

static enum pk_code unknown_field(const char *part, struct pk_arena *a, struct pk_err *err)
{
    const char *names[PRESETS_MAX];
    size_t n = 0;
    for (; pk_model_shape_fields[n].name; n++)
        names[n] = pk_model_shape_fields[n].name;
    pk_fail(err, PK_E_USAGE, "transformer: '%.100s' is not a field", part);
    pk_why(err, "%s", pk_suggest_text(a, part, names, n));
    return pk_fix(err, "transformer:layers=32,width=4096,ff=14336,heads=32,kv_heads=8,vocab=128256");
}

/* "layers=32,width=4096,..." */
static enum pk_code read_fields(const char *text, struct pk_arena *a, struct pk_model_shape *s,
                                struct pk_err *err)
{
    for (const char *rest = text, *part; (part = pk_next_part(&rest, ',', a));) {
        const char *name = pk_next_part(&part, '=', a);
        const struct pk_model_shape_field *f = find_field(name);
        int64_t v;
        if (!f || !part)
            return unknown_field(name, a, err);
        if (pk_parse_int(part, &v, err))
            return pk_within(err, "transformer: %s", name);
        if (v < f->least || v > f->most)
            return out_of_range(f, v, err);
        *pk_model_shape_value(s, f) = v;
    }
    return pk_model_shape_complete(s, err);
}

/* "16384x53248x126" */
static enum pk_code read_ffn(const char *text, struct pk_arena *a, struct pk_model_shape *s,
                             struct pk_err *err)
{
    static const char *const order[] = {"width", "ff", "layers"};
    const char *rest = text, *part;
    size_t n = 0;
    s->heads = s->vocab = 0;
    s->block_vectors = s->end_vectors = 0;
    s->ff_matrices = 2;
    s->ff_kept = 1;
    for (; (part = pk_next_part(&rest, 'x', a)) && n < 3; n++) {
        const struct pk_model_shape_field *f = find_field(order[n]);
        int64_t v;
        if (pk_parse_int(part, &v, err))
            break;
        if (v < f->least || v > f->most)
            return out_of_range(f, v, err);
        *pk_model_shape_value(s, f) = v;
    }
    if (n == 3 && !part)
        return pk_model_shape_complete(s, err);
    pk_fail(err, PK_E_USAGE, "ffn:%.100s is not a model", text);
    pk_why(err, "three integers are expected: features, inner features, blocks");
    return pk_fix(err, "--model ffn:16384x53248x126");
}

enum pk_code pk_model_shape_parse(const char *text, struct pk_arena *a, struct pk_model_shape *out,
                                  struct pk_err *err)
{
    static const char ffn[] = "ffn:", transformer[] = "transformer:";
    set_defaults(out, text);
    if (!strncmp(text, ffn, sizeof ffn - 1))
        return read_ffn(text + sizeof ffn - 1, a, out, err);
    if (!strncmp(text, transformer, sizeof transformer - 1))
        return read_fields(text + sizeof transformer - 1, a, out, err);
    for (const struct pk_model_shape_preset *p = pk_model_shape_presets; p->name; p++)
        if (!strcmp(p->name, text))
            return read_fields(p->sizes, a, out, err);
    return unknown_model(text, a, err);
}

static enum pk_code must_divide(const char *part, int64_t n, const char *whole, int64_t of,
                                struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "%s=%lld does not divide %s=%lld", part, (long long)n, whole, (long long)of);
    pk_why(err, "%s is a multiple of %s", whole, part);
    return pk_fix(err, "give another %s", part);
}

static bool too_large(const struct pk_model_shape *s)
{
    const double block = (double)s->width * (2.0 * (double)(s->heads + s->kv_heads) * (double)s->head_dim +
                                             (double)s->ff_matrices * (double)s->ff) +
                         (double)s->block_vectors;
    return (double)s->layers * block + (double)s->width * (2.0 * (double)s->vocab + (double)s->positions) >
           0x1p62;
}

enum pk_code pk_model_shape_complete(struct pk_model_shape *s, struct pk_err *err)
{
    for (const struct pk_model_shape_field *f = pk_model_shape_fields; f->name; f++)
        if (*pk_model_shape_value(s, f) == PK_SHAPE_REQUIRED) {
            pk_fail(err, PK_E_USAGE, "the model has no %s", f->name);
            pk_why(err, "%s (%s) has no default", f->name, f->meaning);
            return pk_fix(err, "%s=N", f->name);
        }
    s->kv_heads = s->kv_heads == PK_SHAPE_DERIVED ? s->heads : s->kv_heads;
    if (s->heads && s->head_dim == PK_SHAPE_DERIVED && s->width % s->heads)
        return must_divide("heads", s->heads, "width", s->width, err);
    if (s->head_dim == PK_SHAPE_DERIVED)
        s->head_dim = s->heads ? s->width / s->heads : 0;
    if (s->heads && (!s->kv_heads || s->heads % s->kv_heads))
        return must_divide("kv_heads", s->kv_heads, "heads", s->heads, err);
    s->block_vectors = s->block_vectors == PK_SHAPE_DERIVED ? 2 * s->width : s->block_vectors;
    if (s->end_vectors == PK_SHAPE_DERIVED)
        s->end_vectors = s->vocab ? s->width : 0;
    if (!too_large(s))
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "the model has more than 2^62 parameters");
    pk_why(err, "such sizes are a mistake");
    return pk_fix(err, "check layers, width and ff");
}

int64_t pk_model_shape_parameters(const struct pk_model_shape *s)
{
    const int64_t matrices = s->width * (2 * (s->heads + s->kv_heads) * s->head_dim + s->ff_matrices * s->ff);
    const int64_t tables = s->vocab * (s->tied ? 1 : 2) + s->positions;
    return s->layers * (matrices + s->block_vectors) + tables * s->width + s->end_vectors;
}
