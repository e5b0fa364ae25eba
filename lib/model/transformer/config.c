/* Config: what follows from the shape: limits, sums, the layout of parameters, and a file's tensors against it. */
#include "model/transformer/config.h"

#include <math.h>
#include <string.h>

/* The number of heads nearest to the requested one for which heads have an even number of features. */
static size_t nearest_heads(const struct pk_transformer_config *c)
{
    for (size_t off = 1; off < c->heads || c->heads + off <= c->width; off++) {
        if (off < c->heads && c->width % (2 * (c->heads - off)) == 0)
            return c->heads - off;
        if (c->width % (2 * (c->heads + off)) == 0)
            return c->heads + off;
    }
    return 1;
}

/* The largest divisor of n that is not larger than most. */
static size_t nearest_divisor(size_t n, size_t most)
{
    for (size_t d = most < n ? most : n; d > 1; d--)
        if (n % d == 0)
            return d;
    return 1;
}

static enum pk_code check_step(const char *axis, const char *what, size_t width, struct pk_err *err)
{
    const size_t below = width / PK_WIDTH_STEP * PK_WIDTH_STEP;
    if (width == below)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "a %s of %zu, %s, is not a multiple of %d", what, width, axis, PK_WIDTH_STEP);
    pk_why(err, "every row must start at an address for wide loads");
    return below ? pk_fix(err, "choose %s=%zu or %s=%zu", axis, below, axis, below + PK_WIDTH_STEP)
                 : pk_fix(err, "choose %s=%d", axis, PK_WIDTH_STEP);
}

enum pk_code pk_transformer_valid(const struct pk_transformer_config *c, struct pk_err *err)
{
    if (check_step("d_model", "width", c->width, err) || check_step("d_ff", "feed-forward width", c->ff, err))
        return err->code;
    if (c->width % c->heads) {
        pk_fail(err, PK_E_USAGE, "a width of %zu cannot be divided into %zu heads", c->width, c->heads);
        pk_why(err, "all heads have the same number of features: heads must divide d_model");
        return pk_fix(err, "choose another number, such as heads=%zu", nearest_heads(c));
    }
    if (c->heads % pk_transformer_kv_heads(c)) {
        pk_fail(err, PK_E_USAGE, "%zu heads cannot share %zu heads of keys and values", c->heads,
                c->kv_heads);
        pk_why(err, "each of them serves the same number of heads: kv_heads must divide heads");
        return pk_fix(err, "choose another number, such as kv_heads=%zu",
                      nearest_divisor(c->heads, c->kv_heads));
    }
    if (c->width / c->heads % 2) {
        pk_fail(err, PK_E_USAGE, "heads of %zu features cannot have rotary positions", c->width / c->heads);
        pk_why(err, "features are rotated in pairs: d_model / heads must be even");
        return pk_fix(err, "choose another number, such as heads=%zu, or another d_model", nearest_heads(c));
    }
    if (c->seq > PK_CONTEXT_MAX) {
        pk_fail(err, PK_E_USAGE, "a context of %zu tokens", c->seq);
        pk_why(err, "the maximum is %d", PK_CONTEXT_MAX);
        return pk_fix(err, "choose a shorter context");
    }
    return PK_OK;
}

size_t pk_transformer_parameters(const struct pk_transformer_config *c)
{
    const size_t attention = 2 * c->width * (c->width + pk_transformer_kv_width(c));
    const size_t block = attention + 3 * c->width * c->ff + 2 * c->width;
    return c->vocab * c->width + c->layers * block + (c->headless ? 0 : c->width + c->vocab * c->width);
}

double pk_transformer_flops(const struct pk_transformer_config *c)
{
    const double width = (double)c->width, seq = (double)c->seq;
    const double attention = 2 * width * (width + (double)pk_transformer_kv_width(c));
    const double weights = (double)c->layers * (attention + 3 * width * (double)c->ff) +
                           (c->headless ? 0 : (double)c->vocab * width);
    const double pairs = (double)c->batch * seq * (seq + 1) / 2;
    return 2 * weights * (double)pk_transformer_tokens(c) + 4 * width * pairs * (double)c->layers;
}

struct pk_attention_shape pk_transformer_attention(const struct pk_transformer_config *c)
{
    const size_t dim = c->width / c->heads;
    return (struct pk_attention_shape){.problems = c->batch * c->heads,
                                       .seq = c->seq,
                                       .dim = dim,
                                       .causal = 1,
                                       .scale = 1.0f / sqrtf((float)dim),
                                       .dtype = c->dtype,
                                       .math = c->math};
}

struct parameter_builder {
    struct pk_parameter *v;
    size_t n, end;
};

static void add_tensor(struct parameter_builder *m, const char *name, size_t rows, size_t cols,
                       bool starts_group)
{
    if (starts_group)
        m->end = (m->end + PK_LAYOUT_STEP - 1) / PK_LAYOUT_STEP * PK_LAYOUT_STEP;
    m->v[m->n++] = (struct pk_parameter){name, rows, cols, m->end};
    m->end += rows * cols;
}

static void put_block(struct parameter_builder *m, const struct pk_transformer_config *c, size_t layer,
                      struct pk_arena *a)
{
    const size_t d = c->width, f = c->ff, kv = pk_transformer_kv_width(c);
    const struct {
        const char *name;
        size_t rows, cols;
        bool starts_group;
    } rows[PK_BLOCK_PARAMETERS] = {
        [PK_NORM1] = {"ln1.weight", 1, d, true},          [PK_Q] = {"attn.q_proj.weight", d, d, true},
        [PK_K] = {"attn.k_proj.weight", kv, d, false},    [PK_V] = {"attn.v_proj.weight", kv, d, false},
        [PK_O] = {"attn.output_proj.weight", d, d, true}, [PK_NORM2] = {"ln2.weight", 1, d, true},
        [PK_GATE] = {"ffn.w1.weight", f, d, true},        [PK_UP] = {"ffn.w3.weight", f, d, false},
        [PK_DOWN] = {"ffn.w2.weight", d, f, true},
    };
    for (size_t i = 0; i < PK_BLOCK_PARAMETERS; i++)
        add_tensor(m, pk_printf(a, "layers.%zu.%s", layer, rows[i].name), rows[i].rows, rows[i].cols,
                   rows[i].starts_group);
}

void pk_layout_make(struct pk_layout *l, const struct pk_transformer_config *c, struct pk_arena *a)
{
    l->n = (c->headless ? 1 : 3) + c->layers * PK_BLOCK_PARAMETERS;
    struct parameter_builder m = {.v = pk_new_n(a, struct pk_parameter, l->n)};
    add_tensor(&m, "token_embeddings.weight", c->vocab, c->width, true);
    for (size_t i = 0; i < c->layers; i++)
        put_block(&m, c, i, a);
    if (!c->headless) {
        add_tensor(&m, "ln_final.weight", 1, c->width, true);
        add_tensor(&m, "lm_head.weight", c->vocab, c->width, true);
    }
    l->v = m.v;
    l->elements = (m.end + PK_LAYOUT_STEP - 1) / PK_LAYOUT_STEP * PK_LAYOUT_STEP;
}

/* Of a matrix with `width` on one side, whichever: the other one; 0 where it has none. */
static size_t other_size(const struct pk_tensor *t, size_t width)
{
    if (!t || t->dimensions != 2)
        return 0;
    return t->shape[1] == width ? t->shape[0] : t->shape[0] == width ? t->shape[1] : 0;
}

/* The sizes of the model in a file; false when the file does not have the names. */
static bool sizes_of(const struct pk_safetensors *f, struct pk_transformer_config *c, struct pk_arena *a)
{
    const struct pk_tensor *norm = pk_safetensors_find(f, "layers.0.ln1.weight");
    if (!norm || !norm->dimensions)
        return false;
    const size_t width = norm->shape[norm->dimensions - 1];
    *c = (struct pk_transformer_config){
        .width = width,
        .vocab = other_size(pk_safetensors_find(f, "token_embeddings.weight"), width),
        .ff = other_size(pk_safetensors_find(f, "layers.0.ffn.w1.weight"), width),
    };
    while (pk_safetensors_find(f, pk_printf(a, "layers.%zu.ln1.weight", c->layers)))
        c->layers++;
    return c->vocab && c->ff;
}

/* otherwise: what to do where it was written with the sizes of c. */
static enum pk_code how_to_fit(const struct pk_safetensors *f, const struct pk_transformer_config *c,
                               const char *otherwise, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_transformer_config of_file;
    if (!sizes_of(f, &of_file, &a))
        return pk_fix(err, "its tensors need the names of this model: token_embeddings.weight, "
                           "layers.0.attn.q_proj.weight ... (docs/mixed-precision.md)");
    if (of_file.layers == c->layers && of_file.width == c->width && of_file.ff == c->ff &&
        of_file.vocab == c->vocab)
        return pk_fix(err, "its sizes must be those of this model: %s", otherwise);
    return pk_fix(err,
                  "use the sizes of the file, which appear to be layers=%zu d_model=%zu d_ff=%zu "
                  "vocab=%zu",
                  of_file.layers, of_file.width, of_file.ff, of_file.vocab);
}

static enum pk_code check_tensor(const struct pk_safetensors *f, const struct pk_transformer_config *c,
                                 const struct pk_parameter *p, struct pk_arena *a, struct pk_err *err)
{
    const bool matrix = p->rows > 1;
    const struct pk_tensor *has = pk_safetensors_find(f, p->name),
                           expected = {.name = p->name,
                                       .dimensions = matrix ? 2 : 1,
                                       .shape = {matrix ? p->rows : p->cols, p->cols}};
    if (!has) {
        pk_fail(err, PK_E_USAGE, "%s has no tensor %s", f->path, p->name);
        pk_why(err, "this model needs one of %s; the file has %zu tensors",
               pk_tensor_shape_text(&expected, a), f->n);
        return how_to_fit(f, c, "save it with this tensor, too", err);
    }
    if (has->dimensions != expected.dimensions ||
        memcmp(has->shape, expected.shape, expected.dimensions * sizeof *expected.shape)) {
        pk_fail(err, PK_E_USAGE, "%s: %s is of %s", f->path, p->name, pk_tensor_shape_text(has, a));
        pk_why(err, "this model needs %s", pk_tensor_shape_text(&expected, a));
        return how_to_fit(f, c,
                          (has->dimensions == 2 && expected.dimensions == 2 &&
                           has->shape[0] == expected.shape[1] && has->shape[1] == expected.shape[0])
                              ? "save it transposed, as [out, in], as PyTorch's Linear has it"
                              : "save it in that shape",
                          err);
    }
    if (!pk_tensor_has_floats(has)) {
        pk_fail(err, PK_E_USAGE, "%s: %s is of dtype %s", f->path, p->name, has->type);
        pk_why(err, "weights are read from F32, BF16 and F16");
        return pk_fix(err, "convert it before saving: model.float().state_dict()");
    }
    return PK_OK;
}

enum pk_code pk_transformer_weights_fit(const struct pk_safetensors *f, const struct pk_transformer_config *c,
                                        struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_layout l;
    pk_layout_make(&l, c, &a);
    for (size_t i = 0; i < l.n; i++)
        if (check_tensor(f, c, &l.v[i], &a, err))
            return err->code;
    for (size_t i = 0; f->n > l.n && i < f->n; i++) {
        size_t at = 0;
        while (at < l.n && strcmp(l.v[at].name, f->v[i].name))
            at++;
        if (at == l.n) {
            pk_fail(err, PK_E_USAGE, "%s has a tensor %.200s", f->path, f->v[i].name);
            pk_why(err, "this model has no such parameter: it has %zu, the file %zu tensors", l.n, f->n);
            return how_to_fit(f, c, "save it without this tensor", err);
        }
    }
    return PK_OK;
}
