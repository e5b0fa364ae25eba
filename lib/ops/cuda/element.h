/* Element: reading and writing array elements of any stored type as fp32. For kernel files. */
#pragma once

#include "ops/cuda/launch.h"
#include "ops/dtype.h"

namespace
{

typedef uint16_t bf16;

__device__ float load(const float *x, size_t i)
{
    return x[i];
}
__device__ float load(const bf16 *x, size_t i)
{
    return pk_bf16_to_float(x[i]);
}
__device__ void store(float *y, size_t i, float v)
{
    y[i] = v;
}
__device__ void store(bf16 *y, size_t i, float v)
{
    y[i] = pk_bf16_of_float(v);
}

} // namespace
