/* Transformer: opened and closed, its contents, and the order in which the parts of a pass and of a step follow each other. */
#include "model/transformer/transformer.h"

#include "base/err.h"
#include "model/transformer/transformer_private.h"
#include "ops/ops.h"

#include <math.h>

/* The report's hyperparameters (AdamW's defaults as in PyTorch). */
static const struct pk_adamw_state adamw_defaults = {
    .lr = 1e-3f, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .decay = 0.01f, .beta1_t = 1, .beta2_t = 1};

/* *rc stays what it was once something has been refused. */
static void *allocate(struct pk_transformer *t, size_t bytes, enum pk_tag tag, enum pk_code *rc,
                      struct pk_err *err)
{
    void *x = *rc ? NULL : pk_device_alloc(t->dev, bytes, tag);
    if (!x && !*rc)
        *rc = pk_device_oom(t->dev, err);
    return x;
}

enum pk_code pk_transformer_open(struct pk_transformer *t, struct pk_device *dev,
                                 const struct pk_transformer_config *c, enum pk_needs needs,
                                 struct pk_arena *a, struct pk_err *err)
{
    *t =
        (struct pk_transformer){.c = *c, .dev = dev, .blocks = pk_new_n(a, struct pk_block_saved, c->layers)};
    enum pk_code rc = pk_transformer_valid(c, err);
    if (rc)
        return rc;
    pk_layout_make(&t->layout, c, a);
    const size_t n = t->layout.elements, tokens = pk_transformer_tokens(c), wide = n * sizeof(float);
    t->p = allocate(t, wide, PK_TAG_PARAMETERS, &rc, err);
    if (c->dtype == PK_BF16)
        t->narrow = allocate(t, n * sizeof *t->narrow, PK_TAG_PARAMETERS, &rc, err);
    if (needs >= PK_NEEDS_GRADIENTS)
        t->g = allocate(t, wide, PK_TAG_GRADIENTS, &rc, err);
    if (needs >= PK_NEEDS_OPTIMIZER) {
        t->m = allocate(t, wide, PK_TAG_OPTIMIZER, &rc, err);
        t->v = allocate(t, wide, PK_TAG_OPTIMIZER, &rc, err);
        t->adamw = allocate(t, sizeof *t->adamw, PK_TAG_OPTIMIZER, &rc, err);
    }
    t->rope_table =
        allocate(t, c->seq * (c->width / c->heads) * sizeof *t->rope_table, PK_TAG_OTHER, &rc, err);
    t->tokens = allocate(t, tokens * sizeof *t->tokens, PK_TAG_INPUT, &rc, err);
    t->targets = allocate(t, tokens * sizeof *t->targets, PK_TAG_INPUT, &rc, err);
    t->losses = allocate(t, tokens * sizeof *t->losses, PK_TAG_OTHER, &rc, err);
    t->loss = allocate(t, sizeof *t->loss, PK_TAG_OTHER, &rc, err);
    const struct pk_attention_shape s = pk_transformer_attention(c);
    return rc ? rc : pk_attention_prepare(dev, c->attention, &s, err);
}

void pk_transformer_close(struct pk_transformer *t)
{
    if (!t->dev)
        return;
    pk_transformer_forget(t);
    void *all[] = {t->p,          t->narrow, t->g,       t->m,      t->v,   t->adamw,
                   t->rope_table, t->tokens, t->targets, t->losses, t->loss};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        pk_device_free(t->dev, all[i]);
    *t = (struct pk_transformer){0};
}

/* x[0, n) = uniform * factor */
static enum pk_code scale(struct pk_transformer *t, float factor, float *x, size_t n, struct pk_err *err)
{
    return n ? pk_op_scale(t->dev, PK_FP32, factor, x, x, n, err) : PK_OK;
}

static enum pk_code fill_uniform(struct pk_transformer *t, float *x, uint64_t seed, struct pk_err *err)
{
    const size_t n = t->layout.elements;
    return pk_op_fill(t->dev, &(struct pk_fill){.dst = x, .rows = 1, .cols = n, .columns = n, .seed = seed},
                      1, err);
}

static enum pk_code fill_zero(struct pk_transformer *t, float *x, struct pk_err *err)
{
    if (!x)
        return PK_OK;
    enum pk_code rc = fill_uniform(t, x, 0, err);
    return rc ? rc : scale(t, 0, x, t->layout.elements, err);
}

/* Parameters in order, and 0 between them. */
static enum pk_code draw_weights(struct pk_transformer *t, uint64_t seed, struct pk_arena *a,
                                 struct pk_err *err)
{
    float *ones = pk_new_n(a, float, t->c.width);
    for (size_t i = 0; i < t->c.width; i++)
        ones[i] = 1;
    enum pk_code rc = fill_uniform(t, t->p, seed, err);
    size_t end = 0;
    for (size_t i = 0; !rc && i < t->layout.n; i++) {
        const struct pk_parameter *w = &t->layout.v[i];
        const size_t n = w->rows * w->cols;
        const double variance =
            w == pk_layout_embedding(&t->layout) ? 1 : 2 / ((double)w->rows + (double)w->cols);
        rc = scale(t, 0, t->p + end, w->offset - end, err);
        if (!rc)
            rc = w->rows == 1 ? pk_device_copy_now(t->dev, PK_COPY_HOST_TO_DEVICE, t->p + w->offset, ones,
                                                   n * sizeof *ones, err)
                              : scale(t, (float)sqrt(3 * variance), t->p + w->offset, n, err);
        end = w->offset + n;
    }
    return rc ? rc : scale(t, 0, t->p + end, t->layout.elements - end, err);
}

static enum pk_code copy_weights(struct pk_transformer *t, const struct pk_safetensors *f, struct pk_arena *a,
                                 struct pk_err *err)
{
    float *piece = pk_new_n(a, float, PK_TENSOR_PIECE);
    enum pk_code rc = fill_zero(t, t->p, err);
    for (size_t i = 0; !rc && i < t->layout.n; i++) {
        const struct pk_tensor *from = pk_safetensors_find(f, t->layout.v[i].name);
        for (size_t at = 0; !rc && at < from->elements; at += PK_TENSOR_PIECE) {
            const size_t left = from->elements - at, n = left < PK_TENSOR_PIECE ? left : PK_TENSOR_PIECE;
            rc = pk_safetensors_read(f, from, at, n, piece, err);
            if (!rc)
                rc = pk_device_copy_now(t->dev, PK_COPY_HOST_TO_DEVICE, t->p + t->layout.v[i].offset + at,
                                        piece, n * sizeof *piece, err);
        }
    }
    return rc;
}

enum pk_code pk_transformer_plan(struct pk_transformer *t, float *rope_table, struct pk_err *err)
{
    const size_t dim = t->c.width / t->c.heads;
    pk_rope_table(rope_table, t->c.seq, dim, 10000);
    return pk_device_copy(t->dev, PK_LANE_COMPUTE, PK_COPY_HOST_TO_DEVICE, t->rope_table, rope_table,
                          t->c.seq * dim * sizeof *rope_table, err);
}

enum pk_code pk_transformer_fill(struct pk_transformer *t, const struct pk_origin *from, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_adamw narrow = {
        .n = t->layout.elements, .passes = PK_ADAMW_NARROW, .p = t->p, .narrow = t->narrow};
    const size_t dim = t->c.width / t->c.heads, n = t->c.seq * dim;
    float *rope_table = pk_new_n(&a, float, n);
    pk_rope_table(rope_table, t->c.seq, dim, 10000);
    enum pk_code rc = pk_device_copy_now(t->dev, PK_COPY_HOST_TO_DEVICE, t->rope_table, rope_table,
                                         n * sizeof *rope_table, err);
    if (rc ||
        (rc = from->file ? copy_weights(t, from->file, &a, err) : draw_weights(t, from->seed, &a, err)) ||
        (t->narrow && (rc = pk_op_adamw(t->dev, &narrow, err))) || (rc = fill_zero(t, t->g, err)) ||
        (rc = fill_zero(t, t->m, err)) || (rc = fill_zero(t, t->v, err)))
        return rc;
    if (t->adamw)
        rc = pk_device_copy_now(t->dev, PK_COPY_HOST_TO_DEVICE, t->adamw, &adamw_defaults,
                                sizeof adamw_defaults, err);
    return rc ? rc : pk_device_sync(t->dev, err);
}

static enum pk_code inside(const struct pk_transformer *t, const int32_t *v, const char *what,
                           struct pk_err *err)
{
    for (size_t i = 0; i < pk_transformer_tokens(&t->c); i++)
        if (v[i] < 0 || (size_t)v[i] >= t->c.vocab) {
            pk_fail(err, PK_E_USAGE, "%s %zu is %d", what, i, (int)v[i]);
            pk_why(err, "the vocabulary has the tokens 0 to %zu", t->c.vocab - 1);
            return pk_fix(err, "choose a larger vocabulary, or other tokens");
        }
    return PK_OK;
}

enum pk_code pk_transformer_batch(struct pk_transformer *t, const int32_t *tokens, const int32_t *targets,
                                  struct pk_err *err)
{
    const size_t bytes = pk_transformer_tokens(&t->c) * sizeof *tokens;
    enum pk_code rc;
    pk_assert(targets || t->c.headless);
    if ((rc = inside(t, tokens, "token", err)) ||
        (rc = targets ? inside(t, targets, "target", err) : PK_OK) ||
        (rc = pk_device_copy_now(t->dev, PK_COPY_HOST_TO_DEVICE, t->tokens, tokens, bytes, err)) || !targets)
        return rc;
    return pk_device_copy_now(t->dev, PK_COPY_HOST_TO_DEVICE, t->targets, targets, bytes, err);
}

enum pk_code pk_transformer_forward(struct pk_transformer *t, bool keep, struct pk_err *err)
{
    struct pk_model_pass p = pk_pass_of(t, err);
    struct pk_stream s;
    pk_assert(!keep || !t->c.headless);
    t->kept = !keep ? PK_KEEP_NOTHING : t->c.recompute ? PK_KEEP_INPUT : PK_KEEP_ALL;
    pk_embedding_forward(&p, &s);
    for (size_t i = 0; !p.rc && i < t->c.layers; i++) {
        pk_block_forward(&p, i, &s, t->kept);
        if (t->block_hook.made)
            PK_PASS_RUN(&p, t->block_hook.made(t->block_hook.user, i, s.x, s.delta, err));
    }
    if (p.rc || t->c.headless) {
        if (!s.x_saved)
            PK_PASS_DROP(&p, s.x);
        PK_PASS_DROP(&p, s.delta);
    } else
        pk_head_loss(&p, &s, keep);
    return p.rc;
}

enum pk_code pk_transformer_backward(struct pk_transformer *t, struct pk_err *err)
{
    pk_assert(t->g && t->kept != PK_KEEP_NOTHING);
    struct pk_model_pass p = pk_pass_of(t, err);
    void *d;
    pk_head_loss_backward(&p, &d);
    for (size_t i = t->c.layers; !p.rc && i-- > 0;)
        pk_block_backward(&p, i, &d);
    pk_embedding_backward(&p, &d);
    return p.rc;
}

enum pk_code pk_transformer_scale(struct pk_transformer *t, float factor, struct pk_err *err)
{
    return scale(t, factor, t->g, t->layout.elements, err);
}

void pk_transformer_forget(struct pk_transformer *t)
{
    struct pk_model_pass p = {.t = t, .dev = t->dev};
    for (size_t i = 0; t->blocks && i < t->c.layers; i++)
        pk_block_drop(&p, &t->blocks[i]);
    pk_head_drop(&p);
}

enum pk_code pk_transformer_loss(struct pk_transformer *t, float *loss, struct pk_err *err)
{
    return pk_device_copy_now(t->dev, PK_COPY_DEVICE_TO_HOST, loss, t->loss, sizeof *loss, err);
}

enum pk_code pk_transformer_finite_loss(struct pk_transformer *t, float *loss, struct pk_err *err)
{
    enum pk_code rc = pk_transformer_loss(t, loss, err);
    if (rc || isfinite(*loss))
        return rc;
    pk_fail(err, PK_E_CHECK, "the loss is %g", isnan(*loss) ? (double)NAN : (double)*loss); /* of no sign */
    pk_why(err, "weights or activations left the range of their type; times of such a step are meaningless");
    return pk_fix(err, "choose another dtype, or other sizes or weights");
}

static struct pk_adamw part(const struct pk_transformer *t, size_t offset, size_t n)
{
    return (struct pk_adamw){.n = n,
                             .state = t->adamw,
                             .p = t->p + offset,
                             .m = t->m + offset,
                             .v = t->v + offset,
                             .g = t->g + offset,
                             .g_type = PK_FP32,
                             .narrow = t->narrow ? t->narrow + offset : NULL};
}

enum pk_code pk_transformer_update(struct pk_transformer *t, struct pk_err *err)
{
    struct pk_model_pass p = pk_pass_of(t, err);
    p.rc = pk_op_adamw_tick(t->dev, t->adamw, err);
    if (t->c.fused) { /* every parameter in one pass over memory */
        struct pk_adamw a = part(p.t, 0, p.t->layout.elements);
        a.passes = PK_ADAMW_FUSED | (p.t->narrow ? PK_ADAMW_NARROW : 0);
        PK_PASS_RUN(&p, pk_op_adamw(p.dev, &a, p.err));
    }
    for (size_t i = 0; !t->c.fused && i < t->layout.n; i++) {
        /* A parameter as a framework's plain loop takes it: pass after pass. */
        const unsigned last = p.t->narrow ? PK_ADAMW_NARROW : PK_ADAMW_UPDATE;
        struct pk_adamw a = part(p.t, t->layout.v[i].offset, t->layout.v[i].rows * t->layout.v[i].cols);
        a.scratch = pk_pass_take_fp32(&p, a.n);
        for (a.passes = PK_ADAMW_DECAY; a.passes <= last; a.passes <<= 1)
            PK_PASS_RUN(&p, pk_op_adamw(p.dev, &a, p.err));
        PK_PASS_DROP(&p, a.scratch);
    }
    return p.rc;
}
