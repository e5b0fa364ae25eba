/* Softmax: rows of a matrix, forward and backward, each element read once and written once; columns that a causal row does not see are not
 * read.
 *
 * A row belongs to a warp or, where it is longer, to a block of 256 or 512 threads, which hold it in registers (rows.h); one of more than 8
 * packs of 16 bytes for each of 512 threads is read twice: for its maximum and sum, kept online, and to write. Rows that are not aligned to 16 bytes go element by
 * element. Elements are fp32 or bf16, arithmetic is fp32. */
#include "ops/cuda/exp_sum.h"
#include "ops/cuda/kernels.h"
#include "ops/cuda/pack.h"
#include "ops/cuda/rows.h"

namespace
{

constexpr int BLOCK = 256, LONGEST = 512;

/* Threads of the blocks in which GROUP threads have a row. */
template <int GROUP> constexpr int THREADS = GROUP > BLOCK ? GROUP : BLOCK;

/* Rows of softmax: those of problems [causal_seq, cols] where that is not 0. */
template <typename T> struct softmax_rows {
    const T *x;
    T *y;
    size_t rows;
    unsigned cols, causal_seq;
};

/* Columns that a row sees. */
template <typename T> __device__ unsigned visible(const softmax_rows<T> &r, size_t row)
{
    return r.causal_seq ? (unsigned)(row % r.causal_seq) + 1 : r.cols;
}

template <typename T, int W, int GROUP, int PACKS>
PK_KERNEL((THREADS<GROUP>, 1), forward, const softmax_rows<T> r)
{
    pk_wait_for_previous();
    const size_t row = row_of_thread<GROUP, THREADS<GROUP>>();
    if (row >= r.rows)
        return; /* whole groups only */
    const unsigned lane = threadIdx.x % GROUP, packs = r.cols / W, seen = visible(r, row);
    const unsigned read = (seen + W - 1) / W;
    const T *from = r.x + row * r.cols;
    pack<T, W> p[PACKS];
#pragma unroll
    for (int i = 0; i < PACKS; i++)
        if (lane + i * GROUP < read)
            p[i] = pack_at<W>(from, lane + i * GROUP);
    if (seen % W)
#pragma unroll
        for (int i = 0; i < PACKS; i++)
            if (lane + i * GROUP == read - 1)
                mask(p[i], lane + i * GROUP, seen);
    float top = -INFINITY, sum = 0, v[PACKS][W] = {};
#pragma unroll
    for (int i = 0; i < PACKS; i++)
        if (lane + i * GROUP < read)
            top = fmaxf(top, largest(p[i]));
    const float base = reduce<GROUP, larger>(top) * LOG2E;
#pragma unroll
    for (int i = 0; i < PACKS; i++)
        if (lane + i * GROUP < read) {
            widen(p[i], v[i]);
#pragma unroll
            for (int k = 0; k < W; k++) {
                v[i][k] = exp_below(v[i][k], base);
                sum += v[i][k];
            }
        }
    const float scale = 1.0f / reduce<GROUP, add>(sum);
#pragma unroll
    for (int i = 0; i < PACKS; i++)
        if (lane + i * GROUP < packs) {
#pragma unroll
            for (int k = 0; k < W; k++)
                v[i][k] *= scale;
            store_pack(r.y + row * r.cols, lane + i * GROUP, v[i]);
        }
}

template <typename T, int W> PK_KERNEL((BLOCK, 1), forward_long, const softmax_rows<T> r)
{
    pk_wait_for_previous();
    const size_t row = blockIdx.x;
    const unsigned packs = r.cols / W, seen = visible(r, row), read = (seen + W - 1) / W;
    const T *from = r.x + row * r.cols;
    row_sum of = {-INFINITY, 0, 0};
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < read; i += BLOCK)
        take(of, masked_at<W>(from, i, seen));
    of = joined<BLOCK>(of);
    const float scale = 1.0f / of.sum;
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < packs; i += BLOCK) {
        float v[W] = {};
        if (i < read) {
            widen(masked_at<W>(from, i, seen), v);
#pragma unroll
            for (int k = 0; k < W; k++)
                v[k] = exp_below(v[k], of.base) * scale;
        }
        store_pack(r.y + row * r.cols, i, v);
    }
}

template <typename T> struct rows_back {
    const T *p, *dp;
    T *ds;
    size_t rows;
    unsigned cols;
};

template <typename T, int W> __device__ float dot(const pack<T, W> &p, const pack<T, W> &dp)
{
    float a[W], b[W], sum = 0;
    widen(p, a);
    widen(dp, b);
#pragma unroll
    for (int k = 0; k < W; k++)
        sum = fmaf(a[k], b[k], sum);
    return sum;
}

/* sum is that of p * dp. */
template <typename T, int W>
__device__ void store_ds(T *ds, unsigned i, const pack<T, W> &p, const pack<T, W> &dp, float sum)
{
    float a[W], b[W];
    widen(p, a);
    widen(dp, b);
#pragma unroll
    for (int k = 0; k < W; k++)
        a[k] *= b[k] - sum;
    store_pack(ds, i, a);
}

template <typename T, int W, int GROUP, int PACKS>
PK_KERNEL((THREADS<GROUP>, 1), backward, const rows_back<T> r)
{
    pk_wait_for_previous();
    const size_t row = row_of_thread<GROUP, THREADS<GROUP>>(), at = row * r.cols;
    if (row >= r.rows)
        return;
    const unsigned lane = threadIdx.x % GROUP, packs = r.cols / W;
    pack<T, W> p[PACKS], dp[PACKS];
#pragma unroll
    for (int i = 0; i < PACKS; i++)
        if (lane + i * GROUP < packs) {
            p[i] = pack_at<W>(r.p + at, lane + i * GROUP);
            dp[i] = pack_at<W>(r.dp + at, lane + i * GROUP);
        }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < PACKS; i++)
        if (lane + i * GROUP < packs)
            sum += dot(p[i], dp[i]);
    sum = reduce<GROUP, add>(sum);
#pragma unroll
    for (int i = 0; i < PACKS; i++)
        if (lane + i * GROUP < packs)
            store_ds(r.ds + at, lane + i * GROUP, p[i], dp[i], sum);
}

template <typename T, int W> PK_KERNEL((BLOCK), backward_long, const rows_back<T> r)
{
    pk_wait_for_previous();
    const size_t at = (size_t)blockIdx.x * r.cols;
    const unsigned packs = r.cols / W;
    float sum = 0;
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < packs; i += BLOCK)
        sum += dot(pack_at<W>(r.p + at, i), pack_at<W>(r.dp + at, i));
    sum = reduce<BLOCK, add>(sum);
    for (unsigned i = threadIdx.x; i < packs; i += BLOCK)
        store_ds(r.ds + at, i, pack_at<W>(r.p + at, i), pack_at<W>(r.dp + at, i), sum);
}

template <typename T, int W> struct launch_forward {
    pk_stream s;
    const softmax_rows<T> &r;
    template <int GROUP, int PACKS> int rows_held() const
    {
        return PK_LAUNCH((forward<T, W, GROUP, PACKS>), (blocks_for_rows<GROUP, THREADS<GROUP>>(r.rows)),
                         THREADS<GROUP>, 0, s, r);
    }
    int rows_walked() const
    {
        return PK_LAUNCH((forward_long<T, W>), (unsigned)r.rows, BLOCK, 0, s, r);
    }
};

template <typename T, int W> struct launch_backward {
    pk_stream s;
    const rows_back<T> &r;
    template <int GROUP, int PACKS> int rows_held() const
    {
        return PK_LAUNCH((backward<T, W, GROUP, PACKS>), (blocks_for_rows<GROUP, THREADS<GROUP>>(r.rows)),
                         THREADS<GROUP>, 0, s, r);
    }
    int rows_walked() const
    {
        return PK_LAUNCH((backward_long<T, W>), (unsigned)r.rows, BLOCK, 0, s, r);
    }
};

template <int W, typename T> int launch(pk_stream s, const softmax_rows<T> &r)
{
    return launch_by_length<W, LONGEST>(r.cols / W, launch_forward<T, W>{s, r});
}

template <int W, typename T> int launch(pk_stream s, const rows_back<T> &r)
{
    return launch_by_length<W, LONGEST>(r.cols / W, launch_backward<T, W>{s, r});
}

template <typename T>
int softmax(pk_stream s, const void *x, void *y, size_t rows, size_t cols, size_t causal_seq)
{
    const softmax_rows<T> r = {static_cast<const T *>(x), static_cast<T *>(y), rows, (unsigned)cols,
                               (unsigned)causal_seq};
    return pk_can_pack(pk_bits_of(x) | pk_bits_of(y) | cols * sizeof(T)) ? launch<FULL<T>>(s, r)
                                                                         : launch<1>(s, r);
}

template <typename T>
int softmax_backward(pk_stream s, const void *p, const void *dp, void *ds, size_t rows, size_t cols)
{
    const rows_back<T> r = {static_cast<const T *>(p), static_cast<const T *>(dp), static_cast<T *>(ds), rows,
                            (unsigned)cols};
    return pk_can_pack(pk_bits_of(p) | pk_bits_of(dp) | pk_bits_of(ds) | cols * sizeof(T))
               ? launch<FULL<T>>(s, r)
               : launch<1>(s, r);
}

} // namespace

int pk_k_softmax(pk_stream s, enum pk_dtype type, const void *x, void *y, size_t rows, size_t cols,
                 size_t causal_seq)
{
    if (!rows || !cols)
        return 0;
    return type == PK_BF16 ? softmax<bf16>(s, x, y, rows, cols, causal_seq)
                           : softmax<float>(s, x, y, rows, cols, causal_seq);
}

int pk_k_softmax_backward(pk_stream s, enum pk_dtype type, const void *p, const void *dp, void *ds,
                          size_t rows, size_t cols)
{
    if (!rows || !cols)
        return 0;
    return type == PK_BF16 ? softmax_backward<bf16>(s, p, dp, ds, rows, cols)
                           : softmax_backward<float>(s, p, dp, ds, rows, cols);
}
