/* Ceilings: kernels that do one thing as fast as the chip can: 256 threads a block, no shared memory.
 *
 * Peaks: recurrences without end, several a thread so that their latency is hidden, each towards a fixed point, so that numbers stay
 * ordinary and the result can be checked. Streams: four 16-byte accesses a thread in flight, a tile a block. */
#include "ops/cuda/kernels.h"
#include "ops/cuda/launch.h"

namespace
{

constexpr unsigned THREADS = PK_PEAK_THREADS, EACH = 4;

struct multiply_add {
    static __device__ float step(float x)
    {
        return fmaf(x, 0.75f, 0.125f); /* towards 1/2 */
    }
};

struct exponential {
    static __device__ float step(float x)
    {
        return __expf(-x); /* towards 0.567143 */
    }
};

/* CHAINS steps a thread and iteration; sink[thread] is the sum of what they reached. */
template <typename OP, int CHAINS> PK_KERNEL((THREADS), peak, float *sink, size_t iterations)
{
    pk_wait_for_previous();
    float x[CHAINS], sum = 0;
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        x[c] = (float)(threadIdx.x + c) * (1.0f / THREADS);
#pragma unroll 8
    for (size_t i = 0; i < iterations; i++)
#pragma unroll
        for (int c = 0; c < CHAINS; c++)
            x[c] = OP::step(x[c]);
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        sum += x[c];
    sink[(size_t)blockIdx.x * THREADS + threadIdx.x] = sum;
}

struct copied {
    const float *x;
    __device__ float4 four(size_t i) const
    {
        return reinterpret_cast<const float4 *>(x)[i];
    }
    __device__ float one(size_t i) const
    {
        return x[i];
    }
};

struct added {
    const float *x, *y;
    float alpha;
    __device__ float4 four(size_t i) const
    {
        const float4 a = reinterpret_cast<const float4 *>(x)[i], b = reinterpret_cast<const float4 *>(y)[i];
        return make_float4(fmaf(alpha, b.x, a.x), fmaf(alpha, b.y, a.y), fmaf(alpha, b.z, a.z),
                           fmaf(alpha, b.w, a.w));
    }
    __device__ float one(size_t i) const
    {
        return fmaf(alpha, y[i], x[i]);
    }
};

/* The first block also does what is left of n by four. */
template <typename FROM> PK_KERNEL((THREADS), stream, FROM from, float *to, size_t n)
{
    pk_wait_for_previous();
    const size_t fours = n / 4, begin = (size_t)blockIdx.x * THREADS * EACH + threadIdx.x;
    float4 v[EACH];
#pragma unroll
    for (unsigned e = 0; e < EACH; e++)
        if (begin + e * THREADS < fours)
            v[e] = from.four(begin + e * THREADS);
#pragma unroll
    for (unsigned e = 0; e < EACH; e++)
        if (begin + e * THREADS < fours)
            reinterpret_cast<float4 *>(to)[begin + e * THREADS] = v[e];
    if (blockIdx.x == 0 && threadIdx.x < n % 4)
        to[4 * fours + threadIdx.x] = from.one(4 * fours + threadIdx.x);
}

unsigned tiles_of(size_t n)
{
    return (unsigned)(n / 4 / (THREADS * EACH) + 1);
}

} // namespace

int pk_k_fma_peak(pk_stream s, float *sink, size_t iterations, int blocks)
{
    return PK_LAUNCH((peak<multiply_add, PK_PEAK_FMAS>), blocks, THREADS, 0, s, sink, iterations);
}

int pk_k_exp_peak(pk_stream s, float *sink, size_t iterations, int blocks)
{
    return PK_LAUNCH((peak<exponential, PK_PEAK_EXPS>), blocks, THREADS, 0, s, sink, iterations);
}

int pk_k_copy(pk_stream s, const float *x, float *y, size_t n)
{
    if (!n)
        return 0;
    return PK_LAUNCH(stream<copied>, tiles_of(n), THREADS, 0, s, copied{x}, y, n);
}

int pk_k_triad(pk_stream s, const float *x, const float *y, float *z, float alpha, size_t n)
{
    const added from = {x, y, alpha};
    if (!n)
        return 0;
    return PK_LAUNCH(stream<added>, tiles_of(n), THREADS, 0, s, from, z, n);
}
