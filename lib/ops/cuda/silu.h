/* Silu: x * sigmoid(x) and its derivative, to a few ulp. For kernel files. */
#pragma once

#include "ops/cuda/launch.h"

namespace
{

__device__ float sigmoid(float x)
{
    return __fdividef(1.0f, 1.0f + expf(-x)); /* 0 if the exponential exceeds fp32 */
}

__device__ float silu(float x)
{
    return x * sigmoid(x);
}

__device__ float silu_slope(float x)
{
    const float s = sigmoid(x);
    return s * fmaf(x, 1.0f - s, 1.0f);
}

} // namespace
