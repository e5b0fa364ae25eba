/* Flash rows: shared by the attention kernels, which differ in how they multiply: loading rows into tiles, storing results, division
 * into blocks.
 *
 * A block owns OWN rows of one array (queries or keys) and reads the other array in tiles of SEEN rows. Rows in shared memory have the
 * order of global memory; dim is padded with zeros to DIM plus four floats, so that eight adjacent rows are in different banks.
 *
 * The kernels are templates over T, a way to multiply (flash_tile.h, flash_tile_3xtf32.h), with the members
 *   DIM, THREADS, OWN, SEEN, STRIDE      sizes as above
 *   ROWS, COLS, FEATURES                 what a thread has: ROWS x COLS scores, and ROWS x FEATURES of what it gathers
 *   RUN                                  features of a thread that lie beside each other: 2 or 4
 *   place: own(i) seen(j) feature(f)     where in the tile they are; leads() for one thread of those that share rows
 *   LANE_FIRST, LANE_END                 those threads are lanes whose numbers differ in these bits
 *   multiply(s, own, seen, at)           s[i][j] = own row i . seen row j
 *   keep(w, s, at), gather(g, w, s, seen, at)    g[i][f] += sum over j of s[i][j] * seen row j; w: WEIGHTS floats of shared memory. A thread
 *                                        that gathers has been through a barrier of its warp since keep */
#pragma once

#include "ops/cuda/kernels.h"
#include "ops/cuda/launch.h"

namespace
{

constexpr int INVALID_VALUE = 1; /* cudaErrorInvalidValue */
constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr float LOG2_E = 0x1.715476p+0f, LN_2 = 0x1.62e43p-1f;

/* Floats that are moved in accesses as wide as their alignment. */
template <int N> struct alignas(N < 4 ? N * 4 : 16) floats {
    float v[N];
};

template <typename T> __device__ float row_max(float v)
{
#pragma unroll
    for (int step = T::LANE_FIRST; step < T::LANE_END; step *= 2)
        v = fmaxf(v, __shfl_xor_sync(ALL_LANES, v, step));
    return v;
}

template <typename T> __device__ float row_sum(float v)
{
#pragma unroll
    for (int step = T::LANE_FIRST; step < T::LANE_END; step *= 2)
        v += __shfl_xor_sync(ALL_LANES, v, step);
    return v;
}

/* One problem's [seq, dim]; fours: rows are aligned to 16 bytes. */
struct rows_of {
    const float *x;
    int seq, dim;
    bool fours;
    __device__ rows_of(const pk_attention &at, const void *all, size_t problem)
        : x(static_cast<const float *>(all) + problem * at.seq * at.dim), seq((int)at.seq), dim((int)at.dim),
          fours(at.dim % 4 == 0)
    {
    }
};

/* Begins to copy COUNT rows from `first` on into a tile, without waiting; zeros beyond seq and dim. */
template <typename T, int COUNT> __device__ void fetch(float *to, const rows_of &from, int first)
{
    constexpr int PER_ROW = T::DIM / 4;
    for (int i = (int)threadIdx.x; i < COUNT * PER_ROW; i += T::THREADS) {
        const int r = i / PER_ROW, c = i % PER_ROW * 4;
        const int left = first + r < from.seq ? from.dim - c : 0;
        const float *src = left > 0 ? from.x + (size_t)(first + r) * (size_t)from.dim + c : from.x;
        float *dst = to + r * T::STRIDE + c;
        if (from.fours)
            pk_fetch<16>(dst, src, left > 0);
        else
#pragma unroll
            for (int e = 0; e < 4; e++)
                pk_fetch<4>(dst + e, e < left ? src + e : from.x, e < left);
    }
}

template <typename T> __device__ void clear(float (&v)[T::ROWS][T::FEATURES])
{
#pragma unroll
    for (int i = 0; i < T::ROWS; i++)
#pragma unroll
        for (int f = 0; f < T::FEATURES; f++)
            v[i][f] = 0;
}

/* Writes one gathered row, times factor, to row `row` of [seq, dim]; elements beyond either are omitted. */
template <typename T>
__device__ void store_row(float *out, const rows_of &like, int row, const float (&v)[T::FEATURES],
                          float factor, const typename T::place &at)
{
    if (row >= like.seq)
        return;
#pragma unroll
    for (int f = 0; f < T::FEATURES; f += T::RUN) {
        const int c = at.feature(f);
        float *to = out + (size_t)row * (size_t)like.dim + c;
        floats<T::RUN> run;
#pragma unroll
        for (int e = 0; e < T::RUN; e++)
            run.v[e] = v[f + e] * factor;
        if (like.fours && c < like.dim)
            *reinterpret_cast<floats<T::RUN> *>(to) = run;
        else
#pragma unroll
            for (int e = 0; e < T::RUN; e++)
                if (c + e < like.dim)
                    to[e] = run.v[e];
    }
}

/* Parts of the rows that a block reads: a tile has one block for each part, with adjacent indices. Results of parts are in `memory`
 * (ops/workspace.h): arrays of [n, batch * seq, dim]. */
struct cut {
    unsigned n;
    int rows;
    float *memory;
    __device__ unsigned part() const
    {
        return blockIdx.x % n;
    }
    __device__ unsigned tile() const
    {
        return blockIdx.x / n;
    }
    /* The first row of the block's part, and the first row after it; `last` rows in all. */
    __device__ int begin() const
    {
        return (int)part() * rows;
    }
    __device__ int end(int last) const
    {
        return begin() + rows < last ? begin() + rows : last;
    }
    /* Where the block writes its part of a problem's [seq, dim]: array number `array` of memory. */
    __device__ float *results(const pk_attention &at, size_t problem, size_t array) const
    {
        return memory + (((array * n + part()) * at.batch + problem) * at.seq) * at.dim;
    }
};

/* The arguments of a launch. */
struct call {
    pk_stream s;
    const pk_chip *chip;
    const pk_attention *at;
    cut parts;
    bool five; /* products in the backward pass */
    call(pk_stream s_, const pk_chip *chip_, const pk_attention *at_, const pk_flash_parts *parts_,
         float *memory)
        : s(s_), chip(chip_), at(at_), parts{(unsigned)parts_->n, (int)parts_->rows, memory},
          five(parts_->five)
    {
    }
    /* For kernels with one warp per row and four warps per block. */
    size_t blocks_for_rows() const
    {
        return (at->batch * at->seq + 3) / 4;
    }
};

/* Blocks of all problems and parts. */
template <typename T> size_t blocks_of(const call &c)
{
    static_assert(PK_FLASH_PART_STEP % T::SEEN == 0, "no tile is seen by two parts");
    return (c.at->seq + T::OWN - 1) / T::OWN * c.at->batch * c.parts.n;
}

/* Three of four multiprocessors have a block. With smaller tiles there are more blocks, but each reads as many rows for fewer own rows. */
template <typename T> bool fills(const call &c)
{
    return 4 * blocks_of<T>(c) >= 3 * (size_t)c.chip->multiprocessors;
}

} // namespace
