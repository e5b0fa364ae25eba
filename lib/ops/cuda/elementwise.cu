/* Elementwise: flat arrays and square matrices, two packs of 16 bytes of each input in flight a thread, blocks of 256; single elements where
 * something is not aligned. Of a flat array the first block also does what is left of n by packs; a matrix is cut into pieces of rows. */
#include "ops/cuda/kernels.h"
#include "ops/cuda/pack.h"
#include "ops/cuda/rows.h"
#include "ops/cuda/silu.h"

namespace
{

constexpr unsigned THREADS = 256, EACH = 2;

/* What is done to an element: of(a), or of(a, b) where it takes TWO. */
struct scaled {
    static constexpr bool TWO = false;
    float alpha;
    __device__ float of(float a, float) const
    {
        return alpha * a;
    }
};
struct sum_of {
    static constexpr bool TWO = true;
    __device__ float of(float a, float b) const
    {
        return a + b;
    }
};
struct product_of {
    static constexpr bool TWO = true;
    __device__ float of(float a, float b) const
    {
        return a * b;
    }
};
struct silu_of {
    static constexpr bool TWO = false;
    __device__ float of(float a, float) const
    {
        return silu(a);
    }
};
struct silu_back {
    static constexpr bool TWO = true;
    __device__ float of(float a, float b) const
    {
        return b * silu_slope(a);
    }
};

template <int W, typename X, typename Y, typename MAP>
__device__ void store_mapped(Y *y, size_t i, const MAP &f, const pack<X, W> &a, const pack<X, W> &b)
{
    float x[W], z[W];
    widen(a, x);
    widen(b, z);
#pragma unroll
    for (int k = 0; k < W; k++)
        x[k] = f.of(x[k], z[k]);
    store_pack(y, i, x);
}

template <typename X, typename Y, int W, typename MAP>
PK_KERNEL((THREADS), map, const MAP f, const X *a, const X *b, Y *y, size_t n)
{
    pk_wait_for_previous();
    const size_t packs = n / W, begin = (size_t)blockIdx.x * THREADS * EACH + threadIdx.x;
    pack<X, W> p[EACH], q[EACH];
#pragma unroll
    for (unsigned e = 0; e < EACH; e++)
        if (begin + e * THREADS < packs) {
            p[e] = pack_at<W>(a, begin + e * THREADS);
            q[e] = MAP::TWO ? pack_at<W>(b, begin + e * THREADS) : p[e];
        }
#pragma unroll
    for (unsigned e = 0; e < EACH; e++)
        if (begin + e * THREADS < packs)
            store_mapped(y, begin + e * THREADS, f, p[e], q[e]);
    const size_t left = packs * W + threadIdx.x;
    if (blockIdx.x == 0 && left < n)
        store(y, left, f.of(load(a, left), MAP::TWO ? load(b, left) : 0.0f));
}

/* Element (b, i, j) is -inf where j > i, and not read. Row b * seq + i is cut into pieces of packs. */
template <typename T, int W>
PK_KERNEL((THREADS), causal_mask, const T *x, T *y, unsigned seq, const pieces cut)
{
    pk_wait_for_previous();
    const unsigned visible = (unsigned)cut.row() % seq + 1, begin = cut.begin() + threadIdx.x,
                   end = cut.end();
    const T *from = x + cut.row() * seq;
    pack<T, W> p[EACH] = {};
#pragma unroll
    for (unsigned e = 0; e < EACH; e++)
        if (begin + e * THREADS < end && (begin + e * THREADS) * W < visible)
            p[e] = pack_at<W>(from, begin + e * THREADS);
#pragma unroll
    for (unsigned e = 0; e < EACH; e++)
        if (begin + e * THREADS < end) {
            float v[W];
            widen(p[e], v);
#pragma unroll
            for (unsigned k = 0; k < W; k++)
                v[k] = (begin + e * THREADS) * W + k < visible ? v[k] : -INFINITY;
            store_pack(y + cut.row() * seq, begin + e * THREADS, v);
        }
}

template <int W, typename X, typename Y, typename MAP>
int launch_map(pk_stream s, const MAP &f, const X *a, const X *b, Y *y, size_t n)
{
    return PK_LAUNCH((map<X, Y, W, MAP>), (unsigned)(n / W / (THREADS * EACH) + 1), THREADS, 0, s, f, a, b, y,
                     n);
}

/* b is read where the map takes two. */
template <typename X, typename Y, typename MAP>
int map_by_alignment(pk_stream s, const MAP &f, const void *a, const void *b, void *y, size_t n)
{
    const X *from = static_cast<const X *>(a), *with = MAP::TWO ? static_cast<const X *>(b) : from;
    Y *to = static_cast<Y *>(y);
    if (!n)
        return 0;
    return pk_can_pack(pk_bits_of(from) | pk_bits_of(with) | pk_bits_of(to))
               ? launch_map<FULL<X>>(s, f, from, with, to, n)
               : launch_map<1>(s, f, from, with, to, n);
}

template <typename MAP>
int map_by_type(pk_stream s, const MAP &f, enum pk_dtype type, const void *a, const void *b, void *y,
                size_t n)
{
    return type == PK_BF16 ? map_by_alignment<bf16, bf16>(s, f, a, b, y, n)
                           : map_by_alignment<float, float>(s, f, a, b, y, n);
}

template <int W, typename T> int launch_mask(pk_stream s, const T *x, T *y, size_t batch, size_t seq)
{
    const pieces cut(seq / W, THREADS * EACH);
    return PK_LAUNCH((causal_mask<T, W>), cut.blocks(batch * seq), THREADS, 0, s, x, y, (unsigned)seq, cut);
}

template <typename T> int mask_by_alignment(pk_stream s, const void *x_, void *y_, size_t batch, size_t seq)
{
    const T *x = static_cast<const T *>(x_);
    T *y = static_cast<T *>(y_);
    if (!batch || !seq)
        return 0;
    return pk_can_pack(pk_bits_of(x) | pk_bits_of(y) | seq * sizeof(T))
               ? launch_mask<FULL<T>>(s, x, y, batch, seq)
               : launch_mask<1>(s, x, y, batch, seq);
}

} // namespace

int pk_k_scale(pk_stream s, enum pk_dtype type, float alpha, const void *x, void *y, size_t n)
{
    return map_by_type(s, scaled{alpha}, type, x, nullptr, y, n);
}

int pk_k_narrow(pk_stream s, const float *x, uint16_t *y, size_t n)
{
    return map_by_alignment<float, bf16>(s, scaled{1.0f}, x, nullptr, y, n);
}

int pk_k_map(pk_stream s, enum pk_map map, enum pk_dtype type, const void *a, const void *b, void *y,
             size_t n)
{
    switch (map) {
    case PK_MAP_ADD:
        return map_by_type(s, sum_of{}, type, a, b, y, n);
    case PK_MAP_MUL:
        return map_by_type(s, product_of{}, type, a, b, y, n);
    case PK_MAP_SILU:
        return map_by_type(s, silu_of{}, type, a, b, y, n);
    default:
        return map_by_type(s, silu_back{}, type, a, b, y, n);
    }
}

int pk_k_causal_mask(pk_stream s, enum pk_dtype type, const void *x, void *y, size_t batch, size_t seq)
{
    return type == PK_BF16 ? mask_by_alignment<bf16>(s, x, y, batch, seq)
                           : mask_by_alignment<float>(s, x, y, batch, seq);
}
