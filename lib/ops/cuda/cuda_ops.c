/* Cuda ops: the table, and the rows that are one kernel each. */
#include "ops/cuda/cuda_ops.h"

#include "build_config.h"
#include "device/cuda/cuda.h"
#include "ops/cuda/gemm/gemm.h"
#include "ops/cuda/kernels.h"

static enum pk_code gemm(struct pk_device *dev, const struct pk_gemm *g, struct pk_err *err)
{
    const struct pk_lt_gemm lt = pk_lt_of(g);
    return pk_lt_gemm(dev, &lt, err);
}

static enum pk_code scale(struct pk_device *dev, enum pk_dtype type, float alpha, const void *x, void *y,
                          size_t n, struct pk_err *err)
{
    return pk_cuda_check(dev, pk_k_scale(pk_cuda_stream(dev, PK_LANE_COMPUTE), type, alpha, x, y, n),
                         "launching scale", err);
}

static enum pk_code causal_mask(struct pk_device *dev, enum pk_dtype type, const void *x, void *y,
                                size_t batch, size_t seq, struct pk_err *err)
{
    return pk_cuda_check(dev, pk_k_causal_mask(pk_cuda_stream(dev, PK_LANE_COMPUTE), type, x, y, batch, seq),
                         "launching the causal mask", err);
}

static enum pk_code softmax(struct pk_device *dev, enum pk_dtype type, const void *s, void *p, size_t rows,
                            size_t cols, struct pk_err *err)
{
    return pk_cuda_check(dev, pk_k_softmax(pk_cuda_stream(dev, PK_LANE_COMPUTE), type, s, p, rows, cols, 0),
                         "launching softmax", err);
}

static enum pk_code softmax_backward(struct pk_device *dev, enum pk_dtype type, const void *p, const void *dp,
                                     void *ds, size_t rows, size_t cols, struct pk_err *err)
{
    return pk_cuda_check(
        dev, pk_k_softmax_backward(pk_cuda_stream(dev, PK_LANE_COMPUTE), type, p, dp, ds, rows, cols),
        "launching the backward pass of softmax", err);
}

static enum pk_code map(struct pk_device *dev, enum pk_map map, enum pk_dtype type, const void *a,
                        const void *b, void *y, size_t n, struct pk_err *err)
{
    return pk_cuda_check(dev, pk_k_map(pk_cuda_stream(dev, PK_LANE_COMPUTE), map, type, a, b, y, n),
                         "launching an elementwise operation", err);
}

static enum pk_code mean(struct pk_device *dev, const float *x, size_t n, float *out, struct pk_err *err)
{
    return pk_cuda_check(dev, pk_k_mean(pk_cuda_stream(dev, PK_LANE_COMPUTE), x, n, out), "launching a mean",
                         err);
}

static enum pk_code copy2d(struct pk_device *dev, const struct pk_copy2d *v, size_t n, struct pk_err *err)
{
    return pk_cuda_check(dev, pk_k_copy2d(pk_cuda_stream(dev, PK_LANE_COMPUTE), v, n), "launching copies",
                         err);
}

static enum pk_code fill(struct pk_device *dev, const struct pk_fill *v, size_t n, struct pk_err *err)
{
    return pk_cuda_check(dev, pk_k_fill(pk_cuda_stream(dev, PK_LANE_COMPUTE), v, n), "launching a fill", err);
}

static enum pk_code lay_down(struct pk_device *dev, struct pk_copies *c, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const size_t bytes = c->n * sizeof(struct pk_copy_piece);
    struct pk_copy_piece *pieces = pk_new_n(&a, struct pk_copy_piece, c->n);
    c->table = pk_device_alloc(dev, bytes, PK_TAG_WORKSPACE);
    if (!c->table)
        return pk_device_oom(dev, err);
    c->tiles = pk_k_copy_pieces(c->v, c->n, pieces);
    return pk_device_copy_now(dev, PK_COPY_HOST_TO_DEVICE, c->table, pieces, bytes, err);
}

static enum pk_code copies(struct pk_device *dev, const struct pk_copies *c, struct pk_err *err)
{
    return pk_cuda_check(dev, pk_k_copy_table(pk_cuda_stream(dev, PK_LANE_COMPUTE), c->table, c->n, c->tiles),
                         "launching a table of copies", err);
}

static enum pk_code table_patch(struct pk_device *dev, uint64_t *table, const struct pk_table_patch *v,
                                size_t n, struct pk_err *err)
{
    return pk_cuda_check(dev, pk_k_table_patch(pk_cuda_stream(dev, PK_LANE_COMPUTE), table, v, n),
                         "launching patches of a table", err);
}

/* The workspace is given back when the launches are in order on their lane. */
static enum pk_code norm_backward(struct pk_device *dev, const struct pk_norm_backward *n, struct pk_err *err)
{
    float *partial = pk_device_alloc(dev, pk_workspace_norm_backward(n), PK_TAG_WORKSPACE);
    if (!partial)
        return pk_device_oom(dev, err);
    const int rc = pk_k_norm_backward(pk_cuda_stream(dev, PK_LANE_COMPUTE), n, partial, pk_norm_parts(n));
    pk_device_free(dev, partial);
    return pk_cuda_check(dev, rc, "launching the backward pass of a norm", err);
}

/* A row that is the launch of what it is given. */
#define LAUNCHES(name, shape, what)                                                                          \
    static enum pk_code name(struct pk_device *dev, shape *x, struct pk_err *err)                            \
    {                                                                                                        \
        return pk_cuda_check(dev, pk_k_##name(pk_cuda_stream(dev, PK_LANE_COMPUTE), x), "launching " what,   \
                             err);                                                                           \
    }
LAUNCHES(embed, const struct pk_embed, "an embedding")
LAUNCHES(embed_backward, const struct pk_embed_backward, "the backward pass of an embedding")
LAUNCHES(norm, const struct pk_norm, "a norm")
LAUNCHES(split_heads, const struct pk_heads, "rows to heads")
LAUNCHES(merge_heads, const struct pk_heads, "heads to rows")
LAUNCHES(glu, const struct pk_glu, "a gated unit")
LAUNCHES(glu_backward, const struct pk_glu_backward, "the backward pass of a gated unit")
LAUNCHES(cross_entropy, const struct pk_cross_entropy, "cross-entropy")
LAUNCHES(log_softmax, const struct pk_log_softmax, "log-softmax")
LAUNCHES(nll, const struct pk_nll, "the choice of targets")
LAUNCHES(nll_backward, const struct pk_nll_backward, "the gradient of logits")
LAUNCHES(adamw_tick, struct pk_adamw_state, "the optimizer's tick")
LAUNCHES(adamw, const struct pk_adamw, "AdamW")

#define OWN_ROW(op)       .op = op,
#define ELSEWHERE_ROW(op) .op = pk_cuda_##op,
const struct pk_ops pk_ops_cuda = {
    PK_ARRAY_OPS(OWN_ROW) PK_ATTENTION_OPS(ELSEWHERE_ROW)
#ifdef PK_HAVE_CUDNN
        PK_CUDNN_OPS(ELSEWHERE_ROW)
#endif
            .lay_down = lay_down,
    .copies = copies,
};
