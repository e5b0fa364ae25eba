/* Map: element by element, flat arrays: blocks of 256 threads, two packs of each input in flight a thread; the first block also does what is
 * left of n by packs. */
#include "ops/cuda/kernels.h"
#include "ops/cuda/pack.h"
#include "ops/cuda/silu.h"

namespace
{

constexpr unsigned THREADS = 256, PACKS = 2;

struct sum_of {
    static constexpr bool TWO = true;
    static __device__ float of(float a, float b)
    {
        return a + b;
    }
};
struct product_of {
    static constexpr bool TWO = true;
    static __device__ float of(float a, float b)
    {
        return a * b;
    }
};
struct silu_of {
    static constexpr bool TWO = false;
    static __device__ float of(float a, float)
    {
        return silu(a);
    }
};
struct silu_back {
    static constexpr bool TWO = true;
    static __device__ float of(float a, float b)
    {
        return b * silu_slope(a);
    }
};

template <typename T, int W, typename MAP>
__device__ void store_mapped(T *y, size_t i, const pack<T, W> &a, const pack<T, W> &b)
{
    float x[W], z[W];
    widen(a, x);
    widen(b, z);
#pragma unroll
    for (int k = 0; k < W; k++)
        x[k] = MAP::of(x[k], z[k]);
    store_pack(y, i, x);
}

template <typename T, int W, typename MAP> PK_KERNEL((THREADS), map, const T *a, const T *b, T *y, size_t n)
{
    const size_t packs = n / W, begin = (size_t)blockIdx.x * THREADS * PACKS + threadIdx.x;
    pack<T, W> p[PACKS], q[PACKS];
#pragma unroll
    for (unsigned e = 0; e < PACKS; e++)
        if (begin + e * THREADS < packs) {
            p[e] = pack_at<W>(a, begin + e * THREADS);
            q[e] = MAP::TWO ? pack_at<W>(b, begin + e * THREADS) : p[e];
        }
#pragma unroll
    for (unsigned e = 0; e < PACKS; e++)
        if (begin + e * THREADS < packs)
            store_mapped<T, W, MAP>(y, begin + e * THREADS, p[e], q[e]);
    const size_t left = packs * W + threadIdx.x;
    if (blockIdx.x == 0 && left < n)
        store(y, left, MAP::of(load(a, left), MAP::TWO ? load(b, left) : 0.0f));
}

template <typename T, int W, typename MAP> int launch_map(pk_stream s, const T *a, const T *b, T *y, size_t n)
{
    PK_LAUNCH((map<T, W, MAP>), (unsigned)(n / W / (THREADS * PACKS) + 1), THREADS, 0, s, a, b, y, n);
    return PK_LAUNCHED();
}

template <typename T, typename MAP>
int map_by_alignment(pk_stream s, const void *a, const void *b, void *y, size_t n)
{
    const T *from = static_cast<const T *>(a), *with = MAP::TWO ? static_cast<const T *>(b) : from;
    T *to = static_cast<T *>(y);
    return pk_can_pack(pk_bits_of(from) | pk_bits_of(with) | pk_bits_of(to))
               ? launch_map<T, FULL<T>, MAP>(s, from, with, to, n)
               : launch_map<T, 1, MAP>(s, from, with, to, n);
}

template <typename MAP>
int map_by_type(pk_stream s, enum pk_dtype type, const void *a, const void *b, void *y, size_t n)
{
    return type == PK_BF16 ? map_by_alignment<bf16, MAP>(s, a, b, y, n)
                           : map_by_alignment<float, MAP>(s, a, b, y, n);
}

} // namespace

int pk_k_map(pk_stream s, enum pk_map map, enum pk_dtype type, const void *a, const void *b, void *y,
             size_t n)
{
    static int (*const by_map[PK_MAPS])(pk_stream, enum pk_dtype, const void *, const void *, void *,
                                        size_t) = {map_by_type<sum_of>, map_by_type<product_of>,
                                                   map_by_type<silu_of>, map_by_type<silu_back>};
    return n ? by_map[map](s, type, a, b, y, n) : 0;
}
