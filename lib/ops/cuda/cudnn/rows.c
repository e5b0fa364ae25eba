/* Rows: cuDNN's attention as the table of ops has it. */
#include "ops/cuda/cuda_ops.h"
#include "ops/cuda/cudnn/sdpa.h"

static struct pk_cudnn_shape shape_of(const struct pk_attention *at, bool backward)
{
    return (struct pk_cudnn_shape){at->batch, at->seq, at->dim, at->causal != 0, backward, at->scale};
}

enum pk_code pk_cuda_cudnn_prepare(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    const struct pk_cudnn_shape forward = shape_of(at, false), backward = shape_of(at, true);
    enum pk_code rc = pk_cudnn_prepare(dev, &forward, err);
    return rc ? rc : pk_cudnn_prepare(dev, &backward, err);
}

/* The library's interface has no const: it does not write what the graph reads. */
static enum pk_code run(struct pk_device *dev, const struct pk_attention *at, bool backward,
                        struct pk_err *err)
{
    const struct pk_cudnn_shape s = shape_of(at, backward);
    void *const arrays[PK_CUDNN_ARRAYS] = {
        [PK_CUDNN_Q] = (void *)at->q, [PK_CUDNN_K] = (void *)at->k, [PK_CUDNN_V] = (void *)at->v,
        [PK_CUDNN_O] = at->o,         [PK_CUDNN_LSE] = at->lse,     [PK_CUDNN_D_O] = (void *)at->d_o,
        [PK_CUDNN_DQ] = at->dq,       [PK_CUDNN_DK] = at->dk,       [PK_CUDNN_DV] = at->dv};
    return pk_cudnn_run(dev, &s, arrays, err);
}

enum pk_code pk_cuda_cudnn_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    return run(dev, at, false, err);
}

enum pk_code pk_cuda_cudnn_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    return run(dev, at, true, err);
}
