/* Shape config: the model of a config.json of Hugging Face transformers. The file may be anyone's: its size, its types and its numbers are
 * checked, and what it does not say is never guessed from its name. */
#include "model/shape/shape.h"

#include "base/file.h"
#include "base/text/words.h"
#include "json/json.h"

#include <string.h>

enum { CONFIG_BYTES_MAX = 1 << 20 };

/* What the type of a model says beyond the numbers of its file. Vectors of a block in units of width, of heads * head_dim + 2 kv_heads
 * head_dim, of head_dim, and of ff. */
struct type_row {
    const char *name;
    int64_t ff_matrices;
    int64_t widths, projections, head_dims, ffs; /* vectors of a block */
    int64_t end_widths;
    int64_t tied; /* where the file does not say */
};
static const struct type_row types[] = {
    {"llama", 3, 2, 0, 0, 0, 1, 0}, {"mistral", 3, 2, 0, 0, 0, 1, 0}, {"qwen2", 3, 2, 1, 0, 0, 1, 0},
    {"qwen3", 3, 2, 0, 2, 0, 1, 0}, {"gpt2", 2, 6, 1, 0, 1, 2, 1},
};
enum { TYPES = sizeof types / sizeof *types };

static enum pk_code fail_at(struct pk_err *err, const char *path, const char *key, const char *why)
{
    pk_fail(err, PK_E_USAGE, "%.300s: %s", path, key);
    pk_why(err, "%s", why);
    return pk_fix(err, "--model transformer:layers=...,width=...,ff=...,heads=...,vocab=... states the sizes "
                       "without a file");
}

static const struct type_row *find_type(const json_t *file)
{
    const char *name = pk_json_str(file, "model_type", "");
    for (size_t i = 0; i < TYPES; i++)
        if (!strcmp(types[i].name, name))
            return &types[i];
    return NULL;
}

static enum pk_code unknown_type(const char *path, const json_t *file, struct pk_arena *a, struct pk_err *err)
{
    const char *names[TYPES];
    for (size_t i = 0; i < TYPES; i++)
        names[i] = types[i].name;
    const char *name = pk_json_str(file, "model_type", NULL);
    return fail_at(err, path,
                   name ? pk_printf(a, "model_type '%.100s' is not supported", name) : "it has no model_type",
                   pk_printf(a, "supported: %s", pk_list(names, TYPES, ", ", a)));
}

/* A field of the file; PK_SHAPE_REQUIRED or PK_SHAPE_DERIVED stays where it has none, or null. */
static enum pk_code read_field(const char *path, const json_t *file, const struct pk_model_shape_field *f,
                               struct pk_arena *a, struct pk_model_shape *s, struct pk_err *err)
{
    const json_t *v = *f->config ? json_object_get(file, f->config) : NULL;
    const char *key = v && !json_is_null(v) ? f->config : f->config_also;
    v = *key ? json_object_get(file, key) : NULL;
    if (!v || json_is_null(v))
        return PK_OK;
    if (json_is_boolean(v) && f->most == 1) {
        *pk_model_shape_value(s, f) = json_is_true(v);
        return PK_OK;
    }
    const int64_t n = json_is_integer(v) ? json_integer_value(v) : f->most + 1;
    const int64_t least = f->most > 1 ? 1 : 0; /* 0 of a size: a model of another type */
    if (n < least || n > f->most)
        return fail_at(err, path, key,
                       pk_printf(a, "%s is an integer from %lld to %lld", f->meaning, (long long)least,
                                 (long long)f->most));
    *pk_model_shape_value(s, f) = n;
    return PK_OK;
}

static void add_vectors(const struct type_row *t, struct pk_model_shape *s)
{
    const int64_t dim = s->head_dim > 0 ? s->head_dim : s->heads > 0 ? s->width / s->heads : 0;
    const int64_t kv = s->kv_heads > 0 ? s->kv_heads : s->heads;
    s->block_vectors = t->widths * s->width + t->projections * (s->heads + 2 * kv) * dim +
                       t->head_dims * dim + t->ffs * s->ff;
    s->end_vectors = t->end_widths * s->width;
}

static enum pk_code read_object(const char *path, const json_t *file, struct pk_arena *a,
                                struct pk_model_shape *s, struct pk_err *err)
{
    static const char *const experts[] = {"num_local_experts", "num_experts", "n_routed_experts"};
    const struct type_row *t = find_type(file);
    if (!t)
        return unknown_type(path, file, a, err);
    for (size_t i = 0; i < sizeof experts / sizeof *experts; i++)
        if (pk_json_int(file, experts[i], 0) > 1)
            return fail_at(err, path, experts[i], "mixtures of experts are not modelled");
    s->ff_matrices = t->ff_matrices;
    s->tied = t->tied;
    if (!strcmp(t->name, "gpt2")) /* learned, and as many as the file says */
        s->positions = PK_SHAPE_REQUIRED;
    for (const struct pk_model_shape_field *f = pk_model_shape_fields; f->name; f++)
        if (read_field(path, file, f, a, s, err))
            return err->code;
    if (s->ff == PK_SHAPE_REQUIRED && !strcmp(t->name, "gpt2")) /* n_inner is null: 4 n_embd */
        s->ff = 4 * s->width;
    if (s->width > 0 && s->heads > 0 && s->ff > 0)
        add_vectors(t, s);
    return pk_model_shape_complete(s, err) ? pk_within(err, "%.300s", path) : PK_OK;
}

enum pk_code pk_model_shape_read(const char *path, struct pk_arena *a, struct pk_model_shape *out,
                                 struct pk_err *err)
{
    char *text;
    size_t n;
    json_error_t at;
    *out = (struct pk_model_shape){.name = path};
    for (const struct pk_model_shape_field *f = pk_model_shape_fields; f->name; f++)
        *pk_model_shape_value(out, f) = f->def;
    if (pk_slurp(path, CONFIG_BYTES_MAX, a, &text, &n, err))
        return err->code;
    PK_JSON_CLEANUP json_t *file = json_loadb(text, n, JSON_REJECT_DUPLICATES, &at);
    if (!file)
        return fail_at(err, path, pk_printf(a, "line %d is not JSON", at.line), at.text);
    if (!json_is_object(file))
        return fail_at(err, path, "it is not a JSON object", "a config.json is an object with model_type");
    return read_object(path, file, a, out, err);
}
