/* Flash: launches the kernels of flash attention with the properties of the GPU. */
#include "ops/cuda/cuda_ops.h"

#include "device/cuda/cuda.h"
#include "ops/cuda/kernels.h"
#include "ops/workspace.h"

typedef int launch_fn(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                      const struct pk_flash_parts *parts, float *memory);

/* The kernels of a numeric class. */
struct kernels {
    size_t widest;
    int capability; /* of the chip, at least */
    launch_fn *forward, *backward;
};

static const struct kernels ieee = {PK_FLASH_DIM, 0, pk_k_flash_forward, pk_k_flash_backward};
static const struct kernels by_3xtf32 = {PK_FLASH_3XTF32_DIM, 80, pk_k_flash_forward_3xtf32,
                                         pk_k_flash_backward_3xtf32};
static const struct kernels by_fp16x3 = {PK_FLASH_3XTF32_DIM, 90, pk_k_flash_forward_fp16x3,
                                         pk_k_flash_backward_3xtf32};

static enum pk_code no_kernels(const struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    pk_fail(err, PK_E_UNAVAILABLE, "cannot run flash attention in %s on %s",
            at->dtype == PK_BF16 ? "bf16" : "tf32", pk_cuda_traits(dev)->name);
    pk_why(err, "its kernels support fp32 elements with ieee, 3xtf32 or fp16x3 products");
    return pk_fix(err, "choose dtype=fp32, or another variant");
}

/* Math fp16x3 until a GPU has confirmed it: only where the user has switched it on. */
static enum pk_code may_use_fp16x3(const struct pk_cuda_traits *chip, struct pk_err *err)
{
    const bool on = pk_fp16x3_is_on();
    if (on && chip->capability == by_fp16x3.capability)
        return PK_OK;
    pk_fail(err, PK_E_UNAVAILABLE, "cannot run flash attention in fp16x3 on %s", chip->name);
    if (on)
        pk_why(err, "its compute capability is %d.%d; the kernels are for 9.0", chip->capability / 10,
               chip->capability % 10);
    else
        pk_why(err, "the kernels are experimental: no GPU has checked them");
    return pk_fix(err, on ? "choose math=3xtf32" : "set PERFKIT_FP16X3=on, or choose math=3xtf32");
}

/* The kernels for these operands on this chip. */
static enum pk_code choose(const struct pk_device *dev, const struct pk_attention *at,
                           const struct kernels **out, struct pk_err *err)
{
    const struct pk_cuda_traits *chip = pk_cuda_traits(dev);
    if (at->dtype != PK_FP32 || at->math == PK_MATH_TF32)
        return no_kernels(dev, at, err);
    if (at->math == PK_MATH_FP16X3 && may_use_fp16x3(chip, err))
        return err->code;
    const struct kernels *k = at->math == PK_MATH_IEEE  ? &ieee
                              : pk_flash_has_fp16x3(at) ? &by_fp16x3
                                                        : &by_3xtf32;
    *out = k;
    if (chip->capability < k->capability) {
        pk_fail(err, PK_E_UNAVAILABLE, "cannot run flash attention in 3xtf32 on %s", chip->name);
        pk_why(err, "its compute capability is %d.%d; tf32 came with 8.0", chip->capability / 10,
               chip->capability % 10);
        return pk_fix(err, "choose math=ieee");
    }
    if (at->dim <= k->widest)
        return PK_OK;
    pk_fail(err, PK_E_UNAVAILABLE, "cannot run flash attention with %zu features a head on %s", at->dim,
            chip->name);
    pk_why(err, "a row must fit in the registers of a block: the kernels support up to %zu", k->widest);
    return pk_fix(err,
                  k == &ieee ? "choose more heads, or the variant fused" : "choose more heads, or math=ieee");
}

/* The workspace is given back when the launches are in order on their lane. */
static enum pk_code launch(struct pk_device *dev, const struct pk_attention *at, bool backward,
                           struct pk_err *err)
{
    const struct pk_cuda_traits *t = pk_cuda_traits(dev);
    const struct pk_chip chip = {t->multiprocessors, t->shared_bytes};
    const struct pk_flash_parts parts = pk_flash_parts(at, backward);
    const size_t bytes = backward ? pk_workspace_flash_backward(at) : pk_workspace_flash_forward(at);
    const struct kernels *k = NULL;
    if (choose(dev, at, &k, err))
        return err->code;
    float *memory = bytes ? pk_device_alloc(dev, bytes, PK_TAG_WORKSPACE) : NULL;
    if (bytes && !memory)
        return pk_device_oom(dev, err);
    const int rc = (backward ? k->backward : k->forward)(pk_cuda_stream(dev, PK_LANE_COMPUTE), &chip, at,
                                                         &parts, memory);
    pk_device_free(dev, memory);
    return pk_cuda_check(dev, rc,
                         backward ? "launching flash attention, backward" : "launching flash attention", err);
}

enum pk_code pk_cuda_flash_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    return launch(dev, at, false, err);
}

enum pk_code pk_cuda_flash_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    return launch(dev, at, true, err);
}
