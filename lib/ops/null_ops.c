/* Null ops: the declared work of each operation passes on the fake clock; no arithmetic, no memory touched. Workspaces are taken where the
 * device plays one that would. */
#include "device/null.h"
#include "ops/ops.h"
#include "ops/workspace.h"

static enum pk_code pass(struct pk_device *dev, struct pk_work w)
{
    pk_null_work(dev, w.flops, w.bytes, w.exps);
    return PK_OK;
}

/* Passes with a workspace, given back as it ends. */
static enum pk_code pass_with(struct pk_device *dev, size_t bytes, struct pk_work w, struct pk_err *err)
{
    void *workspace = bytes ? pk_device_alloc(dev, bytes, PK_TAG_WORKSPACE) : NULL;
    if (bytes && !workspace)
        return pk_device_oom(dev, err);
    pk_device_free(dev, workspace);
    return pass(dev, w);
}

static enum pk_code gemm(struct pk_device *dev, const struct pk_gemm *g, struct pk_err *err)
{
    const struct pk_null_part part = pk_null_workspace_of(dev);
    const size_t bytes = part.kind == PK_DEVICE_CUDA  ? pk_workspace_gemm(g)
                         : part.kind == PK_DEVICE_CPU ? pk_workspace_cpu_gemm(g, part.threads)
                                                      : 0;
    return pass_with(dev, bytes, pk_work_gemm(g), err);
}

static enum pk_code scale(struct pk_device *dev, enum pk_dtype type, float alpha, const void *x, void *y,
                          size_t n, struct pk_err *err)
{
    return pass(dev, pk_work_scale(type, n));
}

static enum pk_code causal_mask(struct pk_device *dev, enum pk_dtype type, const void *x, void *y,
                                size_t batch, size_t seq, struct pk_err *err)
{
    return pass(dev, pk_work_causal_mask(type, batch, seq));
}

static enum pk_code softmax(struct pk_device *dev, enum pk_dtype type, const void *s, void *p, size_t rows,
                            size_t cols, struct pk_err *err)
{
    return pass(dev, pk_work_softmax(type, rows, cols));
}

static enum pk_code softmax_backward(struct pk_device *dev, enum pk_dtype type, const void *p, const void *dp,
                                     void *ds, size_t rows, size_t cols, struct pk_err *err)
{
    return pass(dev, pk_work_softmax_backward(type, rows, cols));
}

typedef size_t gpu_fn(const struct pk_attention *at);
typedef size_t cpu_fn(const struct pk_attention *at, bool backward, unsigned threads);

/* NULL: a device that has no such op, or takes nothing for it. */
static size_t attention_bytes(const struct pk_device *dev, const struct pk_attention *at, bool backward,
                              gpu_fn *gpu, cpu_fn *cpu)
{
    const struct pk_null_part part = pk_null_workspace_of(dev);
    if (part.kind == PK_DEVICE_CUDA && gpu)
        return gpu(at);
    return part.kind == PK_DEVICE_CPU && cpu ? cpu(at, backward, part.threads) : 0;
}

static enum pk_code fused_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    const size_t bytes = attention_bytes(dev, at, false, pk_workspace_fused_forward, pk_workspace_cpu_fused);
    return pass_with(dev, bytes, pk_work_fused_forward(at), err);
}

static enum pk_code fused_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    const size_t bytes = attention_bytes(dev, at, true, pk_workspace_fused_backward, pk_workspace_cpu_fused);
    return pass_with(dev, bytes, pk_work_fused_backward(at), err);
}

static enum pk_code flash_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    const size_t bytes = attention_bytes(dev, at, false, pk_workspace_flash_forward, pk_workspace_cpu_flash);
    return pass_with(dev, bytes, pk_work_flash_forward(at), err);
}

static enum pk_code flash_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    const size_t bytes = attention_bytes(dev, at, true, pk_workspace_flash_backward, pk_workspace_cpu_flash);
    return pass_with(dev, bytes, pk_work_flash_backward(at), err);
}

static enum pk_code cudnn_prepare(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    return PK_OK;
}

static enum pk_code cudnn_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    const size_t bytes = attention_bytes(dev, at, true, pk_workspace_cudnn_backward, NULL);
    return pass_with(dev, bytes, pk_work_flash_backward(at), err);
}

static enum pk_code copy2d(struct pk_device *dev, const struct pk_copy2d *v, size_t n, struct pk_err *err)
{
    return pass(dev, pk_work_copy2d(v, n));
}

static enum pk_code fill(struct pk_device *dev, const struct pk_fill *v, size_t n, struct pk_err *err)
{
    return pass(dev, pk_work_fill(v, n));
}

static enum pk_code table_patch(struct pk_device *dev, uint64_t *table, const struct pk_table_patch *v,
                                size_t n, struct pk_err *err)
{
    return pass(dev, pk_work_table_patch(n));
}

static enum pk_code embed_backward(struct pk_device *dev, const struct pk_embed_backward *x,
                                   struct pk_err *err)
{
    const bool met =
        pk_null_workspace_of(dev).kind == PK_DEVICE_CPU; /* a mark for each token of the vocabulary */
    return pass_with(dev, met ? x->vocab : 0, pk_work_embed_backward(x), err);
}

static enum pk_code norm_backward(struct pk_device *dev, const struct pk_norm_backward *x, struct pk_err *err)
{
    const enum pk_device_kind kind = pk_null_workspace_of(dev).kind;
    const size_t bytes = kind == PK_DEVICE_CUDA  ? pk_workspace_norm_backward(x)
                         : kind == PK_DEVICE_CPU ? pk_workspace_cpu_norm_backward(x)
                                                 : 0;
    return pass_with(dev, bytes, pk_work_norm_backward(x), err);
}

static enum pk_code map(struct pk_device *dev, enum pk_map map, enum pk_dtype type, const void *a,
                        const void *b, void *y, size_t n, struct pk_err *err)
{
    return pass(dev, pk_work_map(map, type, n));
}

static enum pk_code mean(struct pk_device *dev, const float *x, size_t n, float *out, struct pk_err *err)
{
    return pass(dev, pk_work_mean(n));
}

static enum pk_code adamw_tick(struct pk_device *dev, struct pk_adamw_state *state, struct pk_err *err)
{
    return pass(dev, pk_work_adamw_tick());
}

/* An operation that only passes the work of its shape. */
#define PASSES(op, shape, work)                                                                              \
    static enum pk_code op(struct pk_device *dev, shape *x, struct pk_err *err)                              \
    {                                                                                                        \
        return pass(dev, work(x));                                                                           \
    }
PASSES(cudnn_forward, const struct pk_attention, pk_work_flash_forward)
PASSES(embed, const struct pk_embed, pk_work_embed)
PASSES(norm, const struct pk_norm, pk_work_norm)
PASSES(split_heads, const struct pk_heads, pk_work_heads)
PASSES(merge_heads, const struct pk_heads, pk_work_heads)
PASSES(glu, const struct pk_glu, pk_work_glu)
PASSES(glu_backward, const struct pk_glu_backward, pk_work_glu_backward)
PASSES(cross_entropy, const struct pk_cross_entropy, pk_work_cross_entropy)
PASSES(log_softmax, const struct pk_log_softmax, pk_work_log_softmax)
PASSES(nll, const struct pk_nll, pk_work_nll)
PASSES(nll_backward, const struct pk_nll_backward, pk_work_nll_backward)
PASSES(adamw, const struct pk_adamw, pk_work_adamw)

#define ROW(op) .op = op,
const struct pk_ops pk_ops_null = {PK_ARRAY_OPS(ROW) PK_ATTENTION_OPS(ROW) PK_CUDNN_OPS(ROW)};
