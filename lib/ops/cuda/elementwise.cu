/* Elementwise: one value a thread and step, grid-stride loops over as many blocks as keep the chip busy. */
#include "ops/cuda/kernels.h"
#include "ops/cuda/launch.h"

constexpr unsigned THREADS = 256;
constexpr size_t BLOCKS_MAX = 132 * 16;

static unsigned blocks_for(size_t n)
{
    const size_t blocks = (n + THREADS - 1) / THREADS;
    return (unsigned)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX);
}

__global__ void scale_kernel(float alpha, const float *x, float *y, size_t n)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        y[i] = alpha * x[i];
}

int pk_k_scale(pk_stream s, float alpha, const float *x, float *y, size_t n)
{
    if (!n)
        return 0;
    PK_LAUNCH(scale_kernel, blocks_for(n), THREADS, 0, s, alpha, x, y, n);
    return PK_LAUNCHED();
}

/* Element (b, i, j) is -inf where j > i. */
__global__ void causal_mask_kernel(const float *x, float *y, size_t n, size_t seq)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        y[i] = i % seq > i / seq % seq ? -INFINITY : x[i];
}

int pk_k_causal_mask(pk_stream s, const float *x, float *y, size_t batch, size_t seq)
{
    const size_t n = batch * seq * seq;
    if (!n)
        return 0;
    PK_LAUNCH(causal_mask_kernel, blocks_for(n), THREADS, 0, s, x, y, n, seq);
    return PK_LAUNCHED();
}
