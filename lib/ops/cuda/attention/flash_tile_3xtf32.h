/* Flash tile, 3xtf32: products of tiles on tensor cores, about as exact as fp32 (see flash_rows.h).
 *
 * An operand is the sum of two tf32 numbers, hi with 11 bits and lo with the next 11; of the four products of such sums lo * lo is
 * omitted. Only operands are tf32: sums are fp32. A warp owns 16 rows and reads a tile 8 rows at a time (mma.m16n8k8).
 *
 * Weights stay in registers: a lane's columns 2t and 2t + 1 of a result are columns t and t + 4 of an operand, if the seen rows are used
 * in that order, too. Rows in shared memory are 4 floats longer than a multiple of 8, to avoid bank conflicts. */
#pragma once

#include "ops/cuda/attention/flash_rows.h"
#include "ops/cuda/attention/mma.h"

namespace
{

/* N operand registers as hi + lo. Rounded by adding half of the last place kept, as cvt.rna does. */
template <int N> struct two_tf32 {
    uint32_t hi[N], lo[N];
    __device__ void set(int i, float x)
    {
        constexpr uint32_t HALF = 0x1000, KEPT = 0xffffe000;
        hi[i] = (pk_bits(x) + HALF) & KEPT;
        lo[i] = (pk_bits(x - pk_float(hi[i])) + HALF) & KEPT;
    }
};

/* The number of terms that tensor cores add up. They round every sum toward zero (mma.h), so the error grows with the number of terms,
 * not with its square root. Parts of this many terms therefore begin at zero and are added to the running sum in fp32, rounded to
 * nearest. */
constexpr int PART = 16;

/* sum += the product of PART columns of a and PART rows of b. Of these, rows e * 8 + t and e * 8 + t + 4 as mma.h numbers them are at
 * b[e * eight] and b[e * eight + four]. Small products first, so that they are not lost. */
__device__ void add_part(float (&sum)[4], const two_tf32<4> (&a)[PART / 8], const float *b, int eight,
                         int four)
{
    float part[4] = {};
#pragma unroll
    for (int e = 0; e < PART / 8; e++) {
        two_tf32<2> row;
        row.set(0, b[e * eight]);
        row.set(1, b[e * eight + four]);
        pk_mma_m16n8k8(part, a[e].lo, row.hi);
        pk_mma_m16n8k8(part, a[e].hi, row.lo);
        pk_mma_m16n8k8(part, a[e].hi, row.hi);
    }
#pragma unroll
    for (int r = 0; r < 4; r++)
        sum[r] += part[r];
}

template <int DIM_, int WARPS, int SEEN_> struct tile_3xtf32 {
    static constexpr int DIM = DIM_, THREADS = 32 * WARPS, OWN = 16 * WARPS, SEEN = SEEN_;
    static constexpr int STRIDE = DIM + 4, ROWS = 2, COLS = SEEN / 4, FEATURES = DIM / 4;
    static constexpr float RAISE = 0, LOWER = 1;
    static constexpr int RUN = 2, LANE_FIRST = 1, LANE_END = 4,
                         WEIGHTS = 4 /* none: C++ has no empty arrays */;
    static_assert(DIM % PART == 0 && SEEN % PART == 0, "whole parts");

    /* Lane 4g + t has rows g and g + 8 of its warp, and of each eight columns 2t and 2t + 1. */
    struct place {
        int g, t, first;
        __device__ place()
            : g((int)threadIdx.x % 32 / 4), t((int)threadIdx.x % 4), first((int)threadIdx.x / 32 * 16)
        {
        }
        __device__ int own(int i) const
        {
            return first + g + 8 * i;
        }
        __device__ int seen(int j) const
        {
            return j / 2 * 8 + 2 * t + j % 2;
        }
        __device__ int feature(int f) const
        {
            return seen(f);
        }
        __device__ bool leads() const
        {
            return t == 0;
        }
    };

    static __device__ void multiply(float (&s)[ROWS][COLS], const float *own, const float *seen,
                                    const place &at)
    {
        float sums[SEEN / 8][4] = {};
#pragma unroll 2
        for (int d = 0; d < DIM; d += PART) {
            two_tf32<4> a[PART / 8];
#pragma unroll
            for (int e = 0; e < PART / 8; e++)
#pragma unroll
                for (int r = 0; r < 4; r++)
                    a[e].set(r, own[at.own(r % 2) * STRIDE + d + e * 8 + at.t + r / 2 * 4]);
#pragma unroll
            for (int n = 0; n < SEEN / 8; n++)
                add_part(sums[n], a, seen + (8 * n + at.g) * STRIDE + d + at.t, 8, 4);
        }
#pragma unroll
        for (int n = 0; n < SEEN / 8; n++)
#pragma unroll
            for (int r = 0; r < 4; r++)
                s[r / 2][2 * n + r % 2] = sums[n][r];
    }

    static __device__ void keep(float *, const float (&)[ROWS][COLS], const place &)
    {
    }

    static __device__ void gather(float (&sum)[ROWS][FEATURES], const float *, const float (&s)[ROWS][COLS],
                                  const float *seen, const place &at)
    {
#pragma unroll
        for (int k = 0; k < SEEN / 8; k += PART / 8) {
            two_tf32<4> a[PART / 8];
#pragma unroll
            for (int e = 0; e < PART / 8; e++)
#pragma unroll
                for (int r = 0; r < 4; r++)
                    a[e].set(r, s[r % 2][2 * (k + e) + r / 2]);
            const float *rows = seen + (8 * k + 2 * at.t) * STRIDE + at.g;
#pragma unroll
            for (int n = 0; n < DIM / 8; n++) {
                float c[4] = {sum[0][2 * n], sum[0][2 * n + 1], sum[1][2 * n], sum[1][2 * n + 1]};
                add_part(c, a, rows + 8 * n, 8 * STRIDE, STRIDE);
                sum[0][2 * n] = c[0], sum[0][2 * n + 1] = c[1];
                sum[1][2 * n] = c[2], sum[1][2 * n + 1] = c[3];
            }
        }
    }
};

} // namespace
