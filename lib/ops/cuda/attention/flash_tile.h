/* Flash tile: products of tiles in fp32, without tensor cores (see flash_rows.h).
 *
 * A thread has own rows y, y + DOWN .., seen rows x, x + ACROSS .. and features by fours, 4 ACROSS apart. It reads 16 bytes at a time;
 * lanes are arranged in pairs, so that lanes that read the same address are neighbours and need one access to shared memory. Weights go
 * through shared memory, too, each thread's COLS in sequence: seen row x + j ACROSS is weight x COLS + j. A row of weights is written
 * and read by the lanes of one warp, so a warp barrier between the two is enough. */
#pragma once

#include "ops/cuda/attention/flash_rows.h"

namespace
{

__device__ float4 load4(const float *p)
{
    return *reinterpret_cast<const float4 *>(p);
}

template <int DIM_, int ACROSS_, int THREADS_, int ROWS_, int COLS_> struct tile {
    static constexpr int DIM = DIM_, ACROSS = ACROSS_, THREADS = THREADS_, ROWS = ROWS_, COLS = COLS_;
    static constexpr int DOWN = THREADS / ACROSS, OWN = ROWS * DOWN, SEEN = COLS * ACROSS;
    static constexpr int FEATURES = DIM / ACROSS, STRIDE = DIM + 4, WEIGHTS_STRIDE = SEEN + 4;
    static constexpr float RAISE = 0, LOWER = 1;
    static constexpr int RUN = 4, LANE_FIRST = 2, LANE_END = 2 * ACROSS;
    static constexpr int WEIGHTS = OWN * WEIGHTS_STRIDE;
    static_assert(FEATURES % 4 == 0 && SEEN % 4 == 0 && ACROSS <= 16, "read by fours, rows within a warp");

    /* The position of a thread. */
    struct place {
        int x, y;
        __device__ place()
        {
            const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
            x = lane / 2 % ACROSS;
            y = warp * (32 / ACROSS) + lane / (2 * ACROSS) * 2 + lane % 2;
        }
        __device__ int own(int i) const
        {
            return y + i * DOWN;
        }
        __device__ int seen(int j) const
        {
            return x + j * ACROSS;
        }
        __device__ int feature(int f) const
        {
            return 4 * x + f % 4 + f / 4 * 4 * ACROSS;
        }
        __device__ bool leads() const
        {
            return x == 0;
        }
    };

    static __device__ void multiply(float (&s)[ROWS][COLS], const float *own, const float *seen,
                                    const place &at)
    {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLS; j++)
                s[i][j] = 0;
#pragma unroll 2
        for (int d = 0; d < DIM; d += 4) {
            float4 a[ROWS];
#pragma unroll
            for (int i = 0; i < ROWS; i++)
                a[i] = load4(own + at.own(i) * STRIDE + d);
#pragma unroll
            for (int j = 0; j < COLS; j++) {
                const float4 b = load4(seen + at.seen(j) * STRIDE + d);
#pragma unroll
                for (int i = 0; i < ROWS; i++) {
                    s[i][j] = fmaf(a[i].x, b.x, s[i][j]);
                    s[i][j] = fmaf(a[i].y, b.y, s[i][j]);
                    s[i][j] = fmaf(a[i].z, b.z, s[i][j]);
                    s[i][j] = fmaf(a[i].w, b.w, s[i][j]);
                }
            }
        }
    }

    static __device__ void keep(float *w, const float (&s)[ROWS][COLS], const place &at)
    {
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            floats<COLS> row;
#pragma unroll
            for (int j = 0; j < COLS; j++)
                row.v[j] = s[i][j];
            *reinterpret_cast<floats<COLS> *>(w + at.own(i) * WEIGHTS_STRIDE + at.x * COLS) = row;
        }
    }

    static __device__ void gather(float (&sum)[ROWS][FEATURES], const float *w, const float (&)[ROWS][COLS],
                                  const float *seen, const place &at)
    {
#pragma unroll 2
        for (int p = 0; p < SEEN; p += 4) {
            float a[ROWS][4];
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                const float4 v = load4(w + at.own(i) * WEIGHTS_STRIDE + p);
                a[i][0] = v.x, a[i][1] = v.y, a[i][2] = v.z, a[i][3] = v.w;
            }
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const float *row = seen + ((p + e) / COLS + (p + e) % COLS * ACROSS) * STRIDE + 4 * at.x;
#pragma unroll
                for (int f = 0; f < FEATURES; f += 4) {
                    const float4 b = load4(row + f * ACROSS);
#pragma unroll
                    for (int i = 0; i < ROWS; i++) {
                        sum[i][f] = fmaf(a[i][e], b.x, sum[i][f]);
                        sum[i][f + 1] = fmaf(a[i][e], b.y, sum[i][f + 1]);
                        sum[i][f + 2] = fmaf(a[i][e], b.z, sum[i][f + 2]);
                        sum[i][f + 3] = fmaf(a[i][e], b.w, sum[i][f + 3]);
                    }
                }
            }
        }
    }
};

} // namespace
