/* Rows: how rows of a matrix are given to threads: held in registers by a warp or a block, or walked in pieces. For kernel files. */
#pragma once

#include "ops/cuda/launch.h"
#include "ops/cuda/reduce.h"

namespace
{

/* Row of the caller where GROUP threads have a row and a block is BLOCK threads. */
template <int GROUP, int BLOCK> __device__ size_t row_of_thread()
{
    return (size_t)blockIdx.x * (BLOCK / GROUP) + threadIdx.x / GROUP;
}

template <int GROUP, int BLOCK> unsigned blocks_for_rows(size_t rows)
{
    return (unsigned)((rows + BLOCK / GROUP - 1) / (BLOCK / GROUP));
}

/* Launches f.rows_held<GROUP, PACKS>() with the fewest packs of W elements a thread that hold a row, a warp's or that of a block of 256 threads;
 * f.rows_walked() where none does. Returns the launch's error. Packs of four elements leave a warp registers for more of them than packs of eight; single elements are the way of odd
 * sizes, and have the largest classes alone. */
template <int W, typename F> int launch_by_length(size_t packs, const F &f)
{
    constexpr int BLOCK = 256, MOST = W < 8 ? 10 : 6;
    if constexpr (W > 1) {
        if (packs <= 2 * WARP)
            return f.template rows_held<WARP, 2>();
        if (packs <= 4 * WARP)
            return f.template rows_held<WARP, 4>();
        if (packs <= 6 * WARP)
            return f.template rows_held<WARP, 6>();
    }
    if (packs <= MOST * WARP)
        return f.template rows_held<WARP, MOST>();
    if constexpr (W > 1) {
        if (packs <= 2 * BLOCK)
            return f.template rows_held<BLOCK, 2>();
        if (packs <= 4 * BLOCK)
            return f.template rows_held<BLOCK, 4>();
    }
    if (packs <= 8 * BLOCK)
        return f.template rows_held<BLOCK, 8>();
    return f.rows_walked();
}

/* Rows of `packs` packs cut into equal pieces of up to `most`, a block each. */
struct pieces {
    unsigned packs, a_row, each;
    pieces(size_t packs_, size_t most) : packs((unsigned)packs_)
    {
        a_row = (unsigned)((packs + most - 1) / most);
        each = (packs + a_row - 1) / a_row;
    }
    unsigned blocks(size_t rows) const
    {
        return (unsigned)(rows * a_row);
    }
    __device__ size_t row() const
    {
        return blockIdx.x / a_row;
    }
    __device__ unsigned begin() const
    {
        return blockIdx.x % a_row * each;
    }
    __device__ unsigned end() const
    {
        const unsigned last = begin() + each;
        return last < packs ? last : packs;
    }
};

} // namespace
