/* Flash: launching the kernels of flash attention, told of the chip. */
#include "ops/cuda/cuda_ops.h"

#include "device/cuda/cuda.h"
#include "ops/cuda/kernels.h"

static struct pk_chip chip_of(const struct pk_device *dev)
{
    const struct pk_cuda_traits *t = pk_cuda_traits(dev);
    return (struct pk_chip){t->multiprocessors, t->shared_bytes};
}

static enum pk_code check_operands(const struct pk_device *dev, const struct pk_attention *at,
                                   struct pk_err *err)
{
    if (at->dtype != PK_FP32 || at->math != PK_MATH_IEEE) {
        pk_fail(err, PK_E_UNAVAILABLE, "cannot run flash attention in %s on %s",
                at->dtype == PK_BF16 ? "bf16" : "tf32", pk_cuda_traits(dev)->name);
        pk_why(err, "the kernels are of fp32 elements and ieee products");
        return pk_fix(err, "choose dtype=fp32, or another variant");
    }
    if (at->dim <= PK_FLASH_DIM)
        return PK_OK;
    pk_fail(err, PK_E_UNAVAILABLE, "cannot run flash attention with %zu features a head on %s", at->dim,
            pk_cuda_traits(dev)->name);
    pk_why(err, "a row has to fit the registers of a block: the kernels go up to %d", PK_FLASH_DIM);
    pk_fix(err, "choose more heads, or the variant fused");
    return err->code;
}

enum pk_code pk_cuda_flash_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    const struct pk_chip chip = chip_of(dev);
    if (check_operands(dev, at, err))
        return err->code;
    return pk_cuda_check(dev, pk_k_flash_forward(pk_cuda_stream(dev, PK_LANE_COMPUTE), &chip, at),
                         "launching flash attention", err);
}

enum pk_code pk_cuda_flash_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    const struct pk_chip chip = chip_of(dev);
    if (check_operands(dev, at, err))
        return err->code;
    return pk_cuda_check(dev, pk_k_flash_backward(pk_cuda_stream(dev, PK_LANE_COMPUTE), &chip, at),
                         "launching flash attention, backward", err);
}
