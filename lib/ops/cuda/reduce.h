/* Reduce: combines the values of the threads of a row, in a fixed order. For kernel files. */
#pragma once

#include "ops/cuda/launch.h"

namespace
{

constexpr int WARP = 32;
constexpr unsigned ALL_LANES = 0xffffffffu;

struct add {
    static __device__ float of(float a, float b)
    {
        return a + b;
    }
    static __device__ float none()
    {
        return 0.0f;
    }
};
struct larger {
    static __device__ float of(float a, float b)
    {
        return fmaxf(a, b);
    }
    static __device__ float none()
    {
        return -INFINITY;
    }
};

/* Over the GROUP threads of a row, a warp or the whole block; all of them call it and get the result. */
template <int GROUP, typename OP> __device__ float reduce(float v)
{
    for (int step = WARP / 2; step > 0; step /= 2)
        v = OP::of(v, __shfl_xor_sync(ALL_LANES, v, step));
    if (GROUP == WARP)
        return v;
    __shared__ float part[GROUP / WARP];
    __syncthreads(); /* in a loop: all threads have read the previous result */
    if (threadIdx.x % WARP == 0)
        part[threadIdx.x / WARP] = v;
    __syncthreads();
    float all = OP::none();
    for (int i = 0; i < GROUP / WARP; i++)
        all = OP::of(all, part[i]);
    return all;
}

} // namespace
