/* Elementwise: one value a thread and step, grid-stride loops over as many blocks as keep the chip busy. */
#include "ops/cuda/element.h"
#include "ops/cuda/kernels.h"
#include "ops/cuda/launch.h"

namespace
{

constexpr unsigned THREADS = 256;
constexpr size_t BLOCKS_MAX = 132 * 16;

unsigned blocks_for(size_t n)
{
    const size_t blocks = (n + THREADS - 1) / THREADS;
    return (unsigned)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX);
}

template <typename X, typename Y> PK_KERNEL((THREADS), scale, float alpha, const X *x, Y *y, size_t n)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        store(y, i, alpha * load(x, i));
}

/* Element (b, i, j) is -inf where j > i. */
template <typename T> PK_KERNEL((THREADS), causal_mask, const T *x, T *y, size_t n, size_t seq)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        store(y, i, i % seq > i / seq % seq ? -INFINITY : load(x, i));
}

template <typename X, typename Y> int launch_scale(pk_stream s, float alpha, const X *x, Y *y, size_t n)
{
    if (!n)
        return 0;
    PK_LAUNCH((scale<X, Y>), blocks_for(n), THREADS, 0, s, alpha, x, y, n);
    return PK_LAUNCHED();
}

template <typename T> int launch_mask(pk_stream s, const T *x, T *y, size_t batch, size_t seq)
{
    const size_t n = batch * seq * seq;
    if (!n)
        return 0;
    PK_LAUNCH(causal_mask<T>, blocks_for(n), THREADS, 0, s, x, y, n, seq);
    return PK_LAUNCHED();
}

} // namespace

int pk_k_scale(pk_stream s, enum pk_dtype type, float alpha, const void *x, void *y, size_t n)
{
    if (type == PK_BF16)
        return launch_scale(s, alpha, static_cast<const bf16 *>(x), static_cast<bf16 *>(y), n);
    return launch_scale(s, alpha, static_cast<const float *>(x), static_cast<float *>(y), n);
}

int pk_k_narrow(pk_stream s, const float *x, uint16_t *y, size_t n)
{
    return launch_scale(s, 1.0f, x, y, n);
}

int pk_k_causal_mask(pk_stream s, enum pk_dtype type, const void *x, void *y, size_t batch, size_t seq)
{
    if (type == PK_BF16)
        return launch_mask(s, static_cast<const bf16 *>(x), static_cast<bf16 *>(y), batch, seq);
    return launch_mask(s, static_cast<const float *>(x), static_cast<float *>(y), batch, seq);
}
