/* Cuda ops: the table, and the rows that are one kernel each. */
#include "ops/cuda/cuda_ops.h"

#include "build_config.h"
#include "device/cuda/cuda.h"
#include "ops/cuda/gemm_lt.h"
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

const struct pk_ops pk_ops_cuda = {
    .gemm = gemm,
    .scale = scale,
    .causal_mask = causal_mask,
    .softmax = softmax,
    .softmax_backward = softmax_backward,
    .fused_forward = pk_cuda_fused_forward,
    .fused_backward = pk_cuda_fused_backward,
    .flash_forward = pk_cuda_flash_forward,
    .flash_backward = pk_cuda_flash_backward,
#ifdef PK_HAVE_CUDNN
    .cudnn_prepare = pk_cuda_cudnn_prepare,
    .cudnn_forward = pk_cuda_cudnn_forward,
    .cudnn_backward = pk_cuda_cudnn_backward,
#endif
    .copy2d = pk_cuda_copy2d,
    .lay_down = pk_cuda_lay_down,
    .copies = pk_cuda_copies,
    .fill = pk_cuda_fill,
    .table_patch = pk_cuda_table_patch,
};
