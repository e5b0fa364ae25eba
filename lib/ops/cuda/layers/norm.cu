/* Norm: root mean square norm with the residual sum before it, each element read once and written once.
 *
 * A row belongs to a warp or, where it is longer, to a block of 256 threads, which hold it in registers (rows.h); one of more than 8 packs of 16
 * bytes a thread is read twice. Rows that are not aligned to 16 bytes go element by element. */
#include "ops/cuda/kernels.h"
#include "ops/cuda/pack.h"
#include "ops/cuda/rows.h"

namespace
{

constexpr int BLOCK = 256;

__device__ float rstd_of(float squares, const pk_norm &n)
{
    return 1.0f / sqrtf(squares / (float)n.cols + n.eps);
}

/* s becomes the sum as it is stored; its squares are the result. */
template <typename T, int W> __device__ float add_delta(pack<T, W> &s, bool summed, const pack<T, W> &delta)
{
    float x[W], d[W], squares = 0;
    widen(s, x);
    if (summed) {
        widen(delta, d);
#pragma unroll
        for (int k = 0; k < W; k++)
            x[k] += d[k];
        narrow(x, s);
        widen(s, x);
    }
#pragma unroll
    for (int k = 0; k < W; k++)
        squares = fmaf(x[k], x[k], squares);
    return squares;
}

template <typename T, int W>
__device__ void store_normed(const pk_norm &n, T *y, size_t i, const pack<T, W> &s, float rstd)
{
    float x[W], w[W];
    widen(s, x);
    load_pack<W>(n.w, i, w);
#pragma unroll
    for (int k = 0; k < W; k++)
        x[k] *= rstd * w[k];
    store_pack(y, i, x);
}

template <typename T, int W, int GROUP, int PACKS> PK_KERNEL((BLOCK, 1), held, const pk_norm n)
{
    pk_wait_for_previous();
    const size_t row = row_of_thread<GROUP, BLOCK>(), at = row * n.cols;
    if (row >= n.rows)
        return; /* whole groups only */
    const unsigned lane = threadIdx.x % GROUP, packs = (unsigned)(n.cols / W);
    pack<T, W> s[PACKS], delta[PACKS] = {};
#pragma unroll
    for (int i = 0; i < PACKS; i++)
        if (lane + i * GROUP < packs)
            s[i] = pack_at<W>(row_at<const T>(n.x, at), lane + i * GROUP);
    if (n.delta)
#pragma unroll
        for (int i = 0; i < PACKS; i++)
            if (lane + i * GROUP < packs)
                delta[i] = pack_at<W>(row_at<const T>(n.delta, at), lane + i * GROUP);
    float squares = 0;
#pragma unroll
    for (int i = 0; i < PACKS; i++)
        if (lane + i * GROUP < packs) {
            squares += add_delta(s[i], n.delta, delta[i]);
            if (n.delta)
                reinterpret_cast<pack<T, W> *>(row_at<T>(n.sum, at))[lane + i * GROUP] = s[i];
        }
    const float rstd = rstd_of(reduce<GROUP, add>(squares), n);
#pragma unroll
    for (int i = 0; i < PACKS; i++)
        if (lane + i * GROUP < packs)
            store_normed(n, row_at<T>(n.y, at), lane + i * GROUP, s[i], rstd);
    if (n.rstd && lane == 0)
        n.rstd[row] = rstd;
}

template <typename T, int W> PK_KERNEL((BLOCK), walked, const pk_norm n)
{
    pk_wait_for_previous();
    const size_t at = (size_t)blockIdx.x * n.cols;
    const unsigned packs = (unsigned)(n.cols / W);
    float squares = 0;
    for (unsigned i = threadIdx.x; i < packs; i += BLOCK) {
        pack<T, W> s = pack_at<W>(row_at<const T>(n.x, at), i), delta = s;
        if (n.delta)
            delta = pack_at<W>(row_at<const T>(n.delta, at), i);
        squares += add_delta(s, n.delta, delta);
        if (n.delta)
            reinterpret_cast<pack<T, W> *>(row_at<T>(n.sum, at))[i] = s;
    }
    const float rstd = rstd_of(reduce<BLOCK, add>(squares), n);
    const T *s = row_at<const T>(n.delta ? n.sum : n.x, at);
    for (unsigned i = threadIdx.x; i < packs; i += BLOCK)
        store_normed(n, row_at<T>(n.y, at), i, pack_at<W>(s, i), rstd);
    if (n.rstd && threadIdx.x == 0)
        n.rstd[blockIdx.x] = rstd;
}

template <typename T, int W> struct launch {
    pk_stream s;
    const pk_norm &n;
    template <int GROUP, int PACKS> int rows_held() const
    {
        return PK_LAUNCH((held<T, W, GROUP, PACKS>), (blocks_for_rows<GROUP, BLOCK>(n.rows)), BLOCK, 0, s, n);
    }
    int rows_walked() const
    {
        return PK_LAUNCH((walked<T, W>), (unsigned)n.rows, BLOCK, 0, s, n);
    }
};

template <typename T> int by_alignment(pk_stream s, const pk_norm &n)
{
    const uintptr_t bits =
        pk_bits_of(n.x) | pk_bits_of(n.delta) | pk_bits_of(n.sum) | pk_bits_of(n.w) | pk_bits_of(n.y);
    return pk_can_pack(bits | n.cols * sizeof(T))
               ? launch_by_length<FULL<T>>(n.cols / FULL<T>, launch<T, FULL<T>>{s, n})
               : launch_by_length<1>(n.cols, launch<T, 1>{s, n});
}

} // namespace

int pk_k_norm(pk_stream s, const struct pk_norm *n)
{
    if (!n->rows || !n->cols)
        return 0;
    return n->dtype == PK_BF16 ? by_alignment<bf16>(s, *n) : by_alignment<float>(s, *n);
}
