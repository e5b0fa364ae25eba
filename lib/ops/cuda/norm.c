/* Norm: the backward pass with its workspace, given back when the launches are in order on their lane. */
#include "ops/cuda/cuda_ops.h"

#include "device/cuda/cuda.h"
#include "ops/cuda/kernels.h"

enum pk_code pk_cuda_norm_backward(struct pk_device *dev, const struct pk_norm_backward *n,
                                   struct pk_err *err)
{
    float *partial = pk_device_alloc(dev, pk_workspace_norm_backward(n), PK_TAG_WORKSPACE);
    if (!partial)
        return pk_device_oom(dev, err);
    const int rc = pk_k_norm_backward(pk_cuda_stream(dev, PK_LANE_COMPUTE), n, partial, pk_norm_parts(n));
    pk_device_free(dev, partial);
    return pk_cuda_check(dev, rc, "launching the backward pass of a norm", err);
}
