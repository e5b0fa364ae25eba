/* Null ops: the declared work of each operation passes on the fake clock; no arithmetic, no memory touched. */
#include "device/null.h"
#include "ops/ops.h"
#include "ops/rects.h"
#include "ops/table.h"

static enum pk_code pass(struct pk_device *dev, struct pk_work w)
{
    pk_null_work(dev, w.flops, w.bytes, w.exps);
    return PK_OK;
}

static enum pk_code gemm(struct pk_device *dev, const struct pk_gemm *g, struct pk_err *err)
{
    return pass(dev, pk_work_gemm(g));
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

static enum pk_code fused_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    return pass(dev, pk_work_fused_forward(at));
}

static enum pk_code fused_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    return pass(dev, pk_work_fused_backward(at));
}

static enum pk_code flash_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    return pass(dev, pk_work_flash_forward(at));
}

static enum pk_code flash_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    return pass(dev, pk_work_flash_backward(at));
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

const struct pk_ops pk_ops_null = {
    .gemm = gemm,
    .scale = scale,
    .causal_mask = causal_mask,
    .softmax = softmax,
    .softmax_backward = softmax_backward,
    .fused_forward = fused_forward,
    .fused_backward = fused_backward,
    .flash_forward = flash_forward,
    .flash_backward = flash_backward,
    .copy2d = copy2d,
    .fill = fill,
    .table_patch = table_patch,
};
