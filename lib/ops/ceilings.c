/* Ceilings: who measures them. */
#include "ops/ceilings/ceilings.h"

#include "build_config.h"
#include "device/null.h"

enum pk_code pk_ceilings_measure(struct pk_device *dev, bool one_lane, struct pk_ceilings *out,
                                 struct pk_curves *curves, struct pk_err *err)
{
    *out = (struct pk_ceilings){0};
    curves->n = 0;
    if (dev->kind == PK_DEVICE_NULL) {
        *out = (struct pk_ceilings){.fp32_flops_per_s = PK_NULL_FLOPS_PER_NS * 1e9,
                                    .tf32_flops_per_s = PK_NULL_FLOPS_PER_NS * 1e9,
                                    .bf16_flops_per_s = PK_NULL_FLOPS_PER_NS * 1e9,
                                    .exp_per_s = PK_NULL_EXPS_PER_NS * 1e9,
                                    .memory_bytes_per_s = PK_NULL_BYTES_PER_NS * 1e9,
                                    .copy_bytes_per_s = PK_NULL_BYTES_PER_NS * 1e9,
                                    .cache_bytes = 1};
        return PK_OK;
    }
#ifdef PK_HAVE_CUDA
    if (dev->kind == PK_DEVICE_CUDA)
        return pk_cuda_ceilings(dev, out, curves, err);
#endif
    pk_assert(dev->kind == PK_DEVICE_CPU);
    return pk_cpu_ceilings(dev, one_lane, out, curves, err);
}
