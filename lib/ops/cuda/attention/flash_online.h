/* Flash online: softmax of rows whose scores come tile by tile, each row's maximum and sum kept as they go (Dao et al. 2022). For kernels
 * that own queries; T is that of flash_rows.h, with RAISE and LOWER besides: the largest weight of a row is 2^RAISE, 1 / LOWER. */
#pragma once

#include "ops/cuda/attention/flash_rows.h"

namespace
{

struct problem {
    rows_of q, k, v;
    int seq, causal;
    float scale; /* times log2(e): exponentials are of base 2 */
    __device__ problem(const pk_attention &at, size_t i)
        : q(at, at.q, i), k(at, at.k, i), v(at, at.v, i), seq((int)at.seq), causal(at.causal),
          scale(at.scale * LOG2_E)
    {
    }
};

/* Of parts, behind what they gathered: the largest score of each row, [n, batch * seq], then as many sums of weights. */
__device__ float *tops_of(const pk_attention &at, const cut &parts, size_t part)
{
    return parts.memory + (parts.n * at.dim + part) * at.batch * at.seq;
}

__device__ size_t from_top_to_sum(const pk_attention &at, const cut &parts)
{
    return parts.n * at.batch * at.seq;
}

/* Where a block's results go, of a part its largest scores instead of lse. In shared memory it costs no registers. */
struct destination {
    float *o, *lse;
};

/* A thread's own rows: the largest score so far, the thread's part of the sum, and what was gathered. */
template <typename T> struct online {
    float top[T::ROWS], sum[T::ROWS], out[T::ROWS][T::FEATURES];
};

template <typename T>
__device__ void hide(float (&s)[T::ROWS][T::COLS], const problem &p, int own, int seen,
                     const typename T::place &at)
{
#pragma unroll
    for (int i = 0; i < T::ROWS; i++)
#pragma unroll
        for (int j = 0; j < T::COLS; j++) {
            const int key = seen + at.seen(j), query = own + at.own(i);
            if (key >= p.seq || (p.causal && key > query))
                s[i][j] = -INFINITY;
        }
}

/* Scores become weights, up to 2^RAISE; what was summed under a smaller maximum shrinks. Every row has seen a key in the first tile. */
template <typename T> __device__ void weigh(float (&s)[T::ROWS][T::COLS], online<T> &row)
{
#pragma unroll
    for (int i = 0; i < T::ROWS; i++) {
        float top = s[i][0];
#pragma unroll
        for (int j = 1; j < T::COLS; j++)
            top = fmaxf(top, s[i][j]);
        top = fmaxf(row.top[i], row_max<T>(top));
        const float shrink = pk_exp2(row.top[i] - top);
        row.top[i] = top;
        row.sum[i] *= shrink;
#pragma unroll
        for (int f = 0; f < T::FEATURES; f++)
            row.out[i][f] *= shrink;
#pragma unroll
        for (int j = 0; j < T::COLS; j++) {
            s[i][j] = pk_exp2(s[i][j] - (top - T::RAISE));
            row.sum[i] += s[i][j];
        }
    }
}

/* Under a causal mask a part makes nothing sensible of queries before its first key; `combine` does not read that. */
template <typename T>
__device__ void finish(const destination &to, const problem &p, int own, const online<T> &row,
                       const typename T::place &at, const pk_attention &all, const cut &parts)
{
    const bool whole = parts.n == 1;
#pragma unroll
    for (int i = 0; i < T::ROWS; i++) {
        const int query = own + at.own(i);
        const float sum = row_sum<T>(row.sum[i]) * T::LOWER;
        store_row<T>(to.o, p.q, query, row.out[i], whole ? T::LOWER / sum : T::LOWER, at);
        if (query >= p.seq || !at.leads())
            continue;
        to.lse[query] = whole ? (row.top[i] + log2f(sum)) * LN_2 : row.top[i];
        if (!whole)
            to.lse[query + from_top_to_sum(all, parts)] = sum;
    }
}

} // namespace
