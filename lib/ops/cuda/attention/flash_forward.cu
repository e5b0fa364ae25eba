/* Flash forward: attention by tiles of scores that are never stored, each row's maximum and sum kept as they go (Dao et al. 2022).
 *
 * A block of 128 or 256 threads owns OWN queries and visits the keys in tiles. While the scores of a tile are made its values are on
 * their way to shared memory, and the next keys while values are gathered. Grid: blocks of a problem beside each other, the last first
 * as under a causal mask they are the longest. Where parts are cut (pk_flash_parts) a block visits one part of the keys and stores what it
 * has gathered, its maxima and its sums; `combine` makes one of the parts. Shared memory: queries, a tile of keys, one of values, weights. */
#include "ops/cuda/attention/flash_online.h"
#include "ops/cuda/attention/flash_tile.h"
#include "ops/cuda/attention/flash_tile_3xtf32.h"

namespace
{

/* Blocks at once on a multiprocessor, which bounds the registers of a thread: to as many as make no thread spill. */
template <typename T> constexpr int AT_ONCE = T::THREADS > 128 ? 1 : T::ROWS > 4 ? 2 : 3;

template <typename T> struct forward_memory {
    float own[T::OWN * T::STRIDE], keys[T::SEEN * T::STRIDE], values[T::SEEN * T::STRIDE],
        weights[T::WEIGHTS];
    destination to;
};

template <typename T> PK_KERNEL((T::THREADS, AT_ONCE<T>), forward, const pk_attention all, const cut parts)
{
    pk_wait_for_previous();
    PK_SHARED(forward_memory<T>, m);
    const unsigned blocks = (unsigned)((all.seq + T::OWN - 1) / T::OWN);
    const size_t i_problem = parts.tile() / blocks;
    const problem p(all, i_problem);
    const int own = (int)(blocks - 1 - parts.tile() % blocks) * T::OWN, begin = parts.begin();
    const int end = parts.end(p.causal && own + T::OWN < p.seq ? own + T::OWN : p.seq);
    if (begin >= end)
        return; /* its keys are hidden from all of its queries */
    const typename T::place at;
    if (threadIdx.x == 0) {
        m->to.o = parts.n == 1 ? static_cast<float *>(all.o) + i_problem * all.seq * all.dim
                               : parts.results(all, i_problem, 0);
        m->to.lse = (parts.n == 1 ? all.lse : tops_of(all, parts, parts.part())) + i_problem * all.seq;
    }
    online<T> row;
    clear<T>(row.out);
    for (int i = 0; i < T::ROWS; i++)
        row.top[i] = -INFINITY, row.sum[i] = 0;
    fetch<T, T::OWN>(m->own, p.q, own);
    fetch<T, T::SEEN>(m->keys, p.k, begin);
    for (int seen = begin; seen < end; seen += T::SEEN) {
        float s[T::ROWS][T::COLS];
        pk_fetch_wait();
        __syncthreads(); /* keys are here, the last values are done with */
        fetch<T, T::SEEN>(m->values, p.v, seen);
        T::multiply(s, m->own, m->keys, at);
#pragma unroll
        for (int i = 0; i < T::ROWS; i++)
#pragma unroll
            for (int j = 0; j < T::COLS; j++)
                s[i][j] *= p.scale;
        if (seen + T::SEEN > p.seq || (p.causal && seen + T::SEEN > own + 1))
            hide<T>(s, p, own, seen, at);
        weigh<T>(s, row);
        T::keep(m->weights, s, at);
        pk_fetch_wait();
        __syncthreads(); /* values and weights are here, the keys are done with */
        if (seen + T::SEEN < end)
            fetch<T, T::SEEN>(m->keys, p.k, seen + T::SEEN);
        T::gather(row.out, m->weights, s, m->values, at);
    }
    finish<T>(m->to, p, own, row, at, all, parts);
}

/* A row a warp: the parts that saw a key for it, each times 2^(its largest score - the largest of all). */
PK_KERNEL((128), combine, const pk_attention at, const cut parts)
{
    pk_wait_for_previous();
    const size_t row = (size_t)blockIdx.x * 4 + threadIdx.x / 32, rows = at.batch * at.seq;
    if (row >= rows)
        return; /* whole warps */
    const unsigned n = at.causal ? (unsigned)(row % at.seq) / (unsigned)parts.rows + 1 : parts.n;
    const float *tops = tops_of(at, parts, 0) + row, *sums = tops + from_top_to_sum(at, parts);
    float top = -INFINITY, sum = 0;
    for (unsigned p = 0; p < n; p++)
        top = fmaxf(top, tops[p * rows]);
    for (unsigned p = 0; p < n; p++)
        sum = fmaf(sums[p * rows], pk_exp2(tops[p * rows] - top), sum);
    for (size_t c = threadIdx.x % 32; c < at.dim; c += 32) {
        float o = 0;
        for (unsigned p = 0; p < n; p++)
            o = fmaf(parts.memory[(p * rows + row) * at.dim + c], pk_exp2(tops[p * rows] - top), o);
        static_cast<float *>(at.o)[row * at.dim + c] = o / sum;
    }
    if (threadIdx.x % 32 == 0)
        at.lse[row] = (top + log2f(sum)) * LN_2;
}

/* True when these tiles were launched: they fit, and their blocks fill the chip or they are the last choice. */
template <typename T> bool launched(const call &c, bool last, int *rc)
{
    const size_t bytes = sizeof(forward_memory<T>), blocks = blocks_of<T>(c);
    if (bytes > c.chip->shared_bytes || (!last && !fills<T>(c)))
        return false;
    *rc = blocks > INT32_MAX ? INVALID_VALUE : PK_ALLOW_SHARED(forward<T>, bytes);
    if (!*rc)
        *rc = PK_LAUNCH(forward<T>, (unsigned)blocks, T::THREADS, bytes, c.s, *c.at, c.parts);
    return true;
}

/* Rows of a thread: many make more of each load, few make more blocks. */
template <int DIM, int ACROSS, int THREADS, int COLS, bool EIGHT> int launch_ieee(const call &c)
{
    int rc = INVALID_VALUE;
    if (EIGHT && launched<tile<DIM, ACROSS, THREADS, EIGHT ? 8 : 4, COLS>>(c, false, &rc))
        return rc;
    if (!launched<tile<DIM, ACROSS, THREADS, 4, COLS>>(c, false, &rc) &&
        !launched<tile<DIM, ACROSS, THREADS, 2, COLS>>(c, false, &rc))
        launched<tile<DIM, ACROSS, THREADS, 1, COLS>>(c, true, &rc);
    return rc;
}

/* Four warps a block, or one where blocks of four would leave multiprocessors without any. */
template <int DIM, int SEEN> int launch_3xtf32(const call &c)
{
    int rc = INVALID_VALUE;
    if (!launched<tile_3xtf32<DIM, 4, SEEN>>(c, false, &rc))
        launched<tile_3xtf32<DIM, 1, SEEN>>(c, true, &rc);
    return rc;
}

/* Whether the kernels take the shape. */
bool takes(const call &c, size_t widest)
{
    return c.at->seq <= INT32_MAX / 2 && c.at->dim <= widest && c.blocks_for_rows() <= INT32_MAX;
}

/* What comes last in every forward pass, after `rc`. */
int end(const call &c, int rc)
{
    if (rc || c.parts.n == 1)
        return rc;
    return PK_LAUNCH(combine, (unsigned)c.blocks_for_rows(), 128, 0, c.s, *c.at, c.parts);
}

} // namespace

int pk_k_flash_forward(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                       const struct pk_flash_parts *parts, float *memory)
{
    const call c(s, chip, at, parts, memory);
    if (!at->batch || !at->seq || !at->dim)
        return 0;
    if (!takes(c, PK_FLASH_DIM))
        return INVALID_VALUE;
    return end(c, at->dim <= 16    ? launch_ieee<16, 4, 128, 8, true>(c)
                  : at->dim <= 32  ? launch_ieee<32, 8, 128, 8, true>(c)
                  : at->dim <= 64  ? launch_ieee<64, 8, 128, 8, true>(c)
                  : at->dim <= 128 ? launch_ieee<128, 16, 256, 4, true>(c)
                                   : launch_ieee<256, 16, 256, 2, false>(c));
}

int pk_k_flash_forward_3xtf32(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                              const struct pk_flash_parts *parts, float *memory)
{
    const call c(s, chip, at, parts, memory);
    if (!at->batch || !at->seq || !at->dim)
        return 0;
    if (!takes(c, PK_FLASH_3XTF32_DIM))
        return INVALID_VALUE;
    return end(c, at->dim <= 16   ? launch_3xtf32<16, 64>(c)
                  : at->dim <= 32 ? launch_3xtf32<32, 64>(c)
                  : at->dim <= 64 ? launch_3xtf32<64, 64>(c)
                                  : launch_3xtf32<128, 32>(c));
}
