/* Flash five: tiles of the backward pass whose blocks, which own keys, also add to the gradients of the queries that they see, so that
 * scores are made once: five products instead of seven (Dao 2023, FlashAttention-2).
 *
 * dQ += dS K is a sum over the keys of a block and over blocks. A block sums over its keys, which needs dS of all of its warps, so these
 * publish it in shared memory; every thread then has a few queries and features of the sum, which it adds to dQ with atomics. The members of
 * five<T> besides those of T (flash_rows.h):
 *   publish(w, s, at)                    like keep, for all threads of the block once they have been through a barrier
 *   add_to_queries(dq, like, first, w, keys, scale, at)    scale times the block's sums for the SEEN queries from `first` on */
#pragma once

#include "ops/cuda/attention/flash_tile.h"
#include "ops/cuda/attention/flash_tile_3xtf32.h"

namespace
{

template <typename T> struct five;
template <typename T> constexpr bool FIVE = false;
template <typename T> constexpr bool FIVE<five<T>> = true;

/* Adds N elements from column c on to row `row` of [seq, dim]; those beyond either are omitted. */
template <int N>
__device__ void add_to_row(float *out, const rows_of &like, int row, int c, const float (&v)[N])
{
    if (row >= like.seq)
        return;
    float *const to = out + (size_t)row * (size_t)like.dim + c;
    if (like.fours && c < like.dim)
        pk_add<N>(to, v);
    else
#pragma unroll
        for (int e = 0; e < N; e++)
            if (c + e < like.dim)
                pk_add<1>(to + e, v + e);
}

/* Without tensor cores. Weights have the order in which gather reads them: thread y has QUERIES beside each other of each row. */
template <int DIM_, int ACROSS_, int THREADS_, int ROWS_, int COLS_>
struct five<tile<DIM_, ACROSS_, THREADS_, ROWS_, COLS_>> : tile<DIM_, ACROSS_, THREADS_, ROWS_, COLS_> {
    using T = tile<DIM_, ACROSS_, THREADS_, ROWS_, COLS_>;
    using typename T::place;
    static constexpr int QUERIES = T::SEEN / T::DOWN;
    static_assert(QUERIES * T::DOWN == T::SEEN, "a thread has whole queries");

    static __device__ void publish(float *w, const float (&s)[T::ROWS][T::COLS], const place &at)
    {
        T::keep(w, s, at);
    }

    static __device__ void add_to_queries(float *dq, const rows_of &like, int first, const float *w,
                                          const float *keys, float scale, const place &at)
    {
        float sum[QUERIES][T::FEATURES] = {};
#pragma unroll 4
        for (int key = 0; key < T::OWN; key++) {
            const auto a =
                *reinterpret_cast<const floats<QUERIES> *>(w + key * T::WEIGHTS_STRIDE + QUERIES * at.y);
            const float *row = keys + key * T::STRIDE + 4 * at.x;
#pragma unroll
            for (int f = 0; f < T::FEATURES; f += 4) {
                const float4 b = load4(row + f * T::ACROSS);
#pragma unroll
                for (int i = 0; i < QUERIES; i++) {
                    sum[i][f] = fmaf(a.v[i], b.x, sum[i][f]);
                    sum[i][f + 1] = fmaf(a.v[i], b.y, sum[i][f + 1]);
                    sum[i][f + 2] = fmaf(a.v[i], b.z, sum[i][f + 2]);
                    sum[i][f + 3] = fmaf(a.v[i], b.w, sum[i][f + 3]);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < QUERIES; i++) {
            const int weight = QUERIES * at.y + i;
#pragma unroll
            for (int f = 0; f < T::FEATURES; f += 4)
                add_to_row<4>(
                    dq, like, first + weight / T::COLS + weight % T::COLS * T::ACROSS, at.feature(f),
                    {sum[i][f] * scale, sum[i][f + 1] * scale, sum[i][f + 2] * scale, sum[i][f + 3] * scale});
        }
    }
};

/* On tensor cores. A warp has 16 queries and WIDE features at a time. Rows of weights are those of keys, 4 floats longer than a multiple of
 * 16: lanes that read two rows of keys apart are in different banks. */
template <int DIM_, int WARPS, int SEEN_>
struct five<tile_3xtf32<DIM_, WARPS, SEEN_>> : tile_3xtf32<DIM_, WARPS, SEEN_> {
    using T = tile_3xtf32<DIM_, WARPS, SEEN_>;
    using typename T::place;
    static constexpr int QUERIES = 16, WIDE = 32, WEIGHTS_STRIDE = T::SEEN + 4,
                         WEIGHTS = T::OWN * WEIGHTS_STRIDE;
    static_assert(T::SEEN % QUERIES == 0 && T::DIM % WIDE == 0 && T::OWN % PART == 0, "whole products");

    static __device__ void publish(float *w, const float (&s)[T::ROWS][T::COLS], const place &at)
    {
#pragma unroll
        for (int i = 0; i < T::ROWS; i++)
#pragma unroll
            for (int j = 0; j < T::COLS; j += 2)
                *reinterpret_cast<floats<2> *>(w + at.own(i) * WEIGHTS_STRIDE + at.seen(j)) = {s[i][j],
                                                                                               s[i][j + 1]};
    }

    static __device__ void add_to_queries(float *dq, const rows_of &like, int first, const float *w,
                                          const float *keys, float scale, const place &at)
    {
        for (int i = (int)threadIdx.x / 32; i < T::SEEN / QUERIES * (T::DIM / WIDE); i += WARPS) {
            const int query = i % (T::SEEN / QUERIES) * QUERIES + at.g, c = i / (T::SEEN / QUERIES) * WIDE;
            float sum[WIDE / 8][4] = {};
#pragma unroll 1
            for (int key = 2 * at.t; key < T::OWN; key += PART) { /* keys in the order of gather */
                two_tf32<4> a[PART / 8];
#pragma unroll
                for (int e = 0; e < PART / 8; e++)
#pragma unroll
                    for (int r = 0; r < 4; r++)
                        a[e].set(r, w[(key + e * 8 + r / 2) * WEIGHTS_STRIDE + query + r % 2 * 8]);
                const float *rows = keys + key * T::STRIDE + c + at.g;
#pragma unroll
                for (int n = 0; n < WIDE / 8; n++)
                    add_part(sum[n], a, rows + 8 * n, 8 * T::STRIDE, T::STRIDE);
            }
#pragma unroll
            for (int n = 0; n < WIDE / 8; n++)
#pragma unroll
                for (int half = 0; half < 2; half++)
                    add_to_row<2>(dq, like, first + query + 8 * half, c + at.feature(2 * n),
                                  {sum[n][2 * half] * scale, sum[n][2 * half + 1] * scale});
        }
    }
};

} // namespace
