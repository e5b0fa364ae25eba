/* Elementwise: flat arrays and square matrices, two packs of 16 bytes in flight a thread, blocks of 256; single elements where something is
 * not aligned. Of a flat array the first block also does what is left of n by packs; a matrix is cut into pieces of rows. */
#include "ops/cuda/kernels.h"
#include "ops/cuda/pack.h"
#include "ops/cuda/rows.h"

namespace
{

constexpr unsigned THREADS = 256, EACH = 2;

template <typename X, typename Y, int W> PK_KERNEL((THREADS), scale, float alpha, const X *x, Y *y, size_t n)
{
    const size_t packs = n / W, begin = (size_t)blockIdx.x * THREADS * EACH + threadIdx.x;
    pack<X, W> p[EACH];
#pragma unroll
    for (unsigned e = 0; e < EACH; e++)
        if (begin + e * THREADS < packs)
            p[e] = pack_at<W>(x, begin + e * THREADS);
#pragma unroll
    for (unsigned e = 0; e < EACH; e++)
        if (begin + e * THREADS < packs) {
            float v[W];
            widen(p[e], v);
#pragma unroll
            for (int k = 0; k < W; k++)
                v[k] *= alpha;
            store_pack(y, begin + e * THREADS, v);
        }
    const size_t left = packs * W + threadIdx.x;
    if (blockIdx.x == 0 && left < n)
        store(y, left, alpha * load(x, left));
}

/* Element (b, i, j) is -inf where j > i, and not read. Row b * seq + i is cut into pieces of packs. */
template <typename T, int W>
PK_KERNEL((THREADS), causal_mask, const T *x, T *y, unsigned seq, const pieces cut)
{
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

template <int W, typename X, typename Y>
int launch_scale(pk_stream s, float alpha, const X *x, Y *y, size_t n)
{
    PK_LAUNCH((scale<X, Y, W>), (unsigned)(n / W / (THREADS * EACH) + 1), THREADS, 0, s, alpha, x, y, n);
    return PK_LAUNCHED();
}

template <typename X, typename Y> int scale_by_alignment(pk_stream s, float alpha, const X *x, Y *y, size_t n)
{
    if (!n)
        return 0;
    return pk_can_pack(pk_bits_of(x) | pk_bits_of(y)) ? launch_scale<FULL<X>>(s, alpha, x, y, n)
                                                      : launch_scale<1>(s, alpha, x, y, n);
}

template <int W, typename T> int launch_mask(pk_stream s, const T *x, T *y, size_t batch, size_t seq)
{
    const pieces cut(seq / W, THREADS * EACH);
    PK_LAUNCH((causal_mask<T, W>), cut.blocks(batch * seq), THREADS, 0, s, x, y, (unsigned)seq, cut);
    return PK_LAUNCHED();
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
    if (type == PK_BF16)
        return scale_by_alignment(s, alpha, static_cast<const bf16 *>(x), static_cast<bf16 *>(y), n);
    return scale_by_alignment(s, alpha, static_cast<const float *>(x), static_cast<float *>(y), n);
}

int pk_k_narrow(pk_stream s, const float *x, uint16_t *y, size_t n)
{
    return scale_by_alignment(s, 1.0f, x, y, n);
}

int pk_k_causal_mask(pk_stream s, enum pk_dtype type, const void *x, void *y, size_t batch, size_t seq)
{
    return type == PK_BF16 ? mask_by_alignment<bf16>(s, x, y, batch, seq)
                           : mask_by_alignment<float>(s, x, y, batch, seq);
}
