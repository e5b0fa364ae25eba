/* Rows: maps rows of a matrix to threads: in registers of a warp or a block, or in pieces. For kernel files. */
#pragma once

#include "ops/cuda/launch.h"
#include "ops/cuda/reduce.h"

namespace
{

/* The row of this thread, with GROUP threads per row and BLOCK threads per block. */
template <int GROUP, int BLOCK> __device__ size_t row_of_thread()
{
    return (size_t)blockIdx.x * (BLOCK / GROUP) + threadIdx.x / GROUP;
}

/* The row that begins at an element. */
template <typename T> __device__ T *row_at(const void *x, size_t at)
{
    return static_cast<T *>(const_cast<void *>(x)) + at;
}

template <int GROUP, int BLOCK> unsigned blocks_for_rows(size_t rows)
{
    return (unsigned)((rows + BLOCK / GROUP - 1) / (BLOCK / GROUP));
}

/* Launches f.rows_held<GROUP, PACKS>() with the smallest number of packs of W elements per thread for which a warp, a block of 256
 * threads, or one of LONGEST can hold a row; f.rows_walked() for longer rows. Returns the launch's error. A warp has registers for more
 * packs of four elements than of eight. Single elements, for odd sizes, have only the largest classes of a warp and of 256 threads. */
template <int W, int LONGEST = 256, typename F> int launch_by_length(size_t packs, const F &f)
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
    if constexpr (W > 1 && LONGEST > BLOCK)
        if (packs <= 8 * LONGEST)
            return f.template rows_held<LONGEST, 8>();
    return f.rows_walked();
}

/* Rows of `packs` packs, divided into equal pieces of up to `most` packs, one block each. */
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
