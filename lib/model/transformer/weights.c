/* Weights: a file's tensors against the parameters of a model. */
#include "model/transformer/weights.h"

#include <string.h>

/* Of a matrix with `width` on one side, whichever: the other one; 0 where it has none. */
static size_t beside(const struct pk_tensor *t, size_t width)
{
    if (!t || t->dimensions != 2)
        return 0;
    return t->shape[1] == width ? t->shape[0] : t->shape[0] == width ? t->shape[1] : 0;
}

/* The sizes that a file of another model was written with; false when it has not even the names. */
static bool sizes_of(const struct pk_safetensors *f, struct pk_transformer_config *c, struct pk_arena *a)
{
    const struct pk_tensor *norm = pk_safetensors_find(f, "layers.0.ln1.weight");
    if (!norm || !norm->dimensions)
        return false;
    const size_t width = norm->shape[norm->dimensions - 1];
    *c = (struct pk_transformer_config){
        .width = width,
        .vocab = beside(pk_safetensors_find(f, "token_embeddings.weight"), width),
        .ff = beside(pk_safetensors_find(f, "layers.0.ffn.w1.weight"), width),
    };
    while (pk_safetensors_find(f, pk_printf(a, "layers.%zu.ln1.weight", c->layers)))
        c->layers++;
    return c->vocab && c->ff;
}

static bool same_sizes(const struct pk_transformer_config *a, const struct pk_transformer_config *b)
{
    return a->layers == b->layers && a->width == b->width && a->ff == b->ff && a->vocab == b->vocab;
}

/* otherwise: what to do where it was written with the sizes of c. */
static enum pk_code how_to_fit(const struct pk_safetensors *f, const struct pk_transformer_config *c,
                               const char *otherwise, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_transformer_config of_file;
    if (!sizes_of(f, &of_file, &a))
        return pk_fix(err, "give its tensors the names of this model: token_embeddings.weight, "
                           "layers.0.attn.q_proj.weight ... (docs/mixed-precision.md)");
    if (same_sizes(&of_file, c))
        return pk_fix(err, "its sizes are this model's: %s", otherwise);
    return pk_fix(err,
                  "give the sizes it was written with: it looks like layers=%zu d_model=%zu d_ff=%zu "
                  "vocab=%zu",
                  of_file.layers, of_file.width, of_file.ff, of_file.vocab);
}

/* A parameter as the tensor that a file should have. */
static struct pk_tensor tensor_of(const struct pk_parameter *p)
{
    struct pk_tensor t = {.name = p->name, .dimensions = 1, .shape = {p->cols}};
    if (p->rows > 1)
        t.dimensions = 2, t.shape[0] = p->rows, t.shape[1] = p->cols;
    return t;
}

static bool same_shape(const struct pk_tensor *a, const struct pk_tensor *b)
{
    bool same = a->dimensions == b->dimensions;
    for (unsigned i = 0; same && i < a->dimensions; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

static bool is_transposed(const struct pk_tensor *a, const struct pk_tensor *b)
{
    return a->dimensions == 2 && b->dimensions == 2 && a->shape[0] == b->shape[1] &&
           a->shape[1] == b->shape[0];
}

static enum pk_code check_tensor(const struct pk_safetensors *f, const struct pk_transformer_config *c,
                                 const struct pk_parameter *p, struct pk_arena *a, struct pk_err *err)
{
    const struct pk_tensor *has = pk_safetensors_find(f, p->name), wants = tensor_of(p);
    if (!has) {
        pk_fail(err, PK_E_USAGE, "%s has no tensor %s", f->path, p->name);
        pk_why(err, "this model has one of %s; the file has %zu tensors", pk_tensor_shape_text(&wants, a),
               f->n);
        return how_to_fit(f, c, "save it with this tensor, too", err);
    }
    if (!same_shape(has, &wants)) {
        pk_fail(err, PK_E_USAGE, "%s: %s is of %s", f->path, p->name, pk_tensor_shape_text(has, a));
        pk_why(err, "this model's is of %s", pk_tensor_shape_text(&wants, a));
        return how_to_fit(f, c,
                          is_transposed(has, &wants)
                              ? "save it transposed, as [out, in], which is what PyTorch's Linear has"
                              : "save it in that shape",
                          err);
    }
    if (!pk_tensor_has_floats(has)) {
        pk_fail(err, PK_E_USAGE, "%s: %s is of dtype %s", f->path, p->name, has->type);
        pk_why(err, "weights are read from F32, BF16 and F16");
        return pk_fix(err, "convert it before it is saved: model.float().state_dict()");
    }
    return PK_OK;
}

static bool is_parameter(const struct pk_layout *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp(l->v[i].name, name))
            return true;
    return false;
}

enum pk_code pk_weights_fit(const struct pk_safetensors *f, const struct pk_transformer_config *c,
                            struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_layout l;
    pk_layout_make(&l, c, &a);
    for (size_t i = 0; i < l.n; i++)
        if (check_tensor(f, c, &l.v[i], &a, err))
            return err->code;
    for (size_t i = 0; f->n > l.n && i < f->n; i++)
        if (!is_parameter(&l, f->v[i].name)) {
            pk_fail(err, PK_E_USAGE, "%s has a tensor %.200s", f->path, f->v[i].name);
            pk_why(err, "this model has no such parameter: it has %zu, the file %zu tensors", l.n, f->n);
            return how_to_fit(f, c, "save it without this tensor", err);
        }
    return PK_OK;
}
