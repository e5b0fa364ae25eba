/* Flash forward: attention by tiles of scores that are never stored, each row's maximum and sum kept as they go (Dao et al. 2022).
 *
 * A block of 128 or 256 threads owns OWN queries and visits the keys in tiles. While the scores of a tile are made its values are on
 * their way to shared memory, and the next keys while values are gathered. Grid: blocks of a problem beside each other, the last first
 * as under a causal mask they are the longest. Shared memory: queries, a tile of keys, one of values, weights. */
#include "ops/cuda/attention/flash_tile.h"
#include "ops/cuda/attention/flash_tile_3xtf32.h"

namespace
{

struct problem {
    rows_of q, k, v;
    float *o, *lse;
    int seq, causal;
    float scale; /* times log2(e): exponentials are of base 2 */
    __device__ problem(const pk_attention &at, size_t i)
        : q(at, at.q, i), k(at, at.k, i), v(at, at.v, i), o(static_cast<float *>(at.o) + i * at.seq * at.dim),
          lse(at.lse + i * at.seq), seq((int)at.seq), causal(at.causal), scale(at.scale * LOG2_E)
    {
    }
};

/* Blocks at once on a multiprocessor, which bounds the registers of a thread: to as many as make no thread spill. */
template <typename T> constexpr int AT_ONCE = T::THREADS > 128 ? 1 : T::ROWS > 4 ? 2 : 3;

template <typename T> struct forward_memory {
    float own[T::OWN * T::STRIDE], keys[T::SEEN * T::STRIDE], values[T::SEEN * T::STRIDE],
        weights[T::WEIGHTS];
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

/* Scores become weights; what was summed under a smaller maximum shrinks. Every row has seen a key in the first tile. */
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
            s[i][j] = pk_exp2(s[i][j] - top);
            row.sum[i] += s[i][j];
        }
    }
}

template <typename T>
__device__ void finish(const problem &p, int own, const online<T> &row, const typename T::place &at)
{
#pragma unroll
    for (int i = 0; i < T::ROWS; i++) {
        const int query = own + at.own(i);
        const float sum = row_sum<T>(row.sum[i]);
        store_row<T>(p.o, p.q, query, row.out[i], 1.0f / sum, at);
        if (query < p.seq && at.leads())
            p.lse[query] = (row.top[i] + log2f(sum)) * LN_2;
    }
}

template <typename T> PK_KERNEL((T::THREADS, AT_ONCE<T>), forward, const pk_attention all)
{
    PK_SHARED(forward_memory<T>, m);
    const unsigned blocks = (unsigned)((all.seq + T::OWN - 1) / T::OWN);
    const problem p(all, blockIdx.x / blocks);
    const int own = (int)(blocks - 1 - blockIdx.x % blocks) * T::OWN;
    const int end = p.causal && own + T::OWN < p.seq ? own + T::OWN : p.seq;
    const typename T::place at;
    online<T> row;
    clear<T>(row.out);
    for (int i = 0; i < T::ROWS; i++)
        row.top[i] = -INFINITY, row.sum[i] = 0;
    fetch<T, T::OWN>(m->own, p.q, own);
    fetch<T, T::SEEN>(m->keys, p.k, 0);
    for (int seen = 0; seen < end; seen += T::SEEN) {
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
    finish<T>(p, own, row, at);
}

/* True when these tiles were launched: they fit, and their blocks fill the chip or they are the last choice. */
template <typename T>
bool launched(pk_stream s, const pk_chip *chip, const pk_attention *at, bool last, int *rc)
{
    const size_t bytes = sizeof(forward_memory<T>), blocks = blocks_of<T>(at);
    if (bytes > chip->shared_bytes || (!last && !fills<T>(at, chip)))
        return false;
    *rc = blocks > INT32_MAX ? INVALID_VALUE : PK_ALLOW_SHARED(forward<T>, bytes);
    if (!*rc) {
        PK_LAUNCH(forward<T>, (unsigned)blocks, T::THREADS, bytes, s, *at);
        *rc = PK_LAUNCHED();
    }
    return true;
}

/* Rows of a thread: many make more of each load, few make more blocks. */
template <int DIM, int ACROSS, int THREADS, int COLS, bool EIGHT>
int launch_ieee(pk_stream s, const pk_chip *chip, const pk_attention *at)
{
    int rc = INVALID_VALUE;
    if (EIGHT && launched<tile<DIM, ACROSS, THREADS, EIGHT ? 8 : 4, COLS>>(s, chip, at, false, &rc))
        return rc;
    if (!launched<tile<DIM, ACROSS, THREADS, 4, COLS>>(s, chip, at, false, &rc) &&
        !launched<tile<DIM, ACROSS, THREADS, 2, COLS>>(s, chip, at, false, &rc))
        launched<tile<DIM, ACROSS, THREADS, 1, COLS>>(s, chip, at, true, &rc);
    return rc;
}

/* Four warps a block, or one where blocks of four would leave multiprocessors without any. */
template <int DIM, int SEEN> int launch_3xtf32(pk_stream s, const pk_chip *chip, const pk_attention *at)
{
    int rc = INVALID_VALUE;
    if (!launched<tile_3xtf32<DIM, 4, SEEN>>(s, chip, at, false, &rc))
        launched<tile_3xtf32<DIM, 1, SEEN>>(s, chip, at, true, &rc);
    return rc;
}

} // namespace

int pk_k_flash_forward(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at)
{
    if (!at->batch || !at->seq || !at->dim)
        return 0;
    if (at->seq > INT32_MAX / 2 || at->dim > PK_FLASH_DIM)
        return INVALID_VALUE;
    return at->dim <= 16    ? launch_ieee<16, 4, 128, 8, true>(s, chip, at)
           : at->dim <= 32  ? launch_ieee<32, 8, 128, 8, true>(s, chip, at)
           : at->dim <= 64  ? launch_ieee<64, 8, 128, 8, true>(s, chip, at)
           : at->dim <= 128 ? launch_ieee<128, 16, 256, 4, true>(s, chip, at)
                            : launch_ieee<256, 16, 256, 2, false>(s, chip, at);
}

int pk_k_flash_forward_3xtf32(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at)
{
    if (!at->batch || !at->seq || !at->dim)
        return 0;
    if (at->seq > INT32_MAX / 2 || at->dim > PK_FLASH_3XTF32_DIM)
        return INVALID_VALUE;
    return at->dim <= 16   ? launch_3xtf32<16, 64>(s, chip, at)
           : at->dim <= 32 ? launch_3xtf32<32, 64>(s, chip, at)
           : at->dim <= 64 ? launch_3xtf32<64, 64>(s, chip, at)
                           : launch_3xtf32<128, 32>(s, chip, at);
}
