/* Flash forward: attention by tiles of scores that are never stored, each row's maximum and sum kept as they go (Dao et al. 2022).
 *
 * A block of 128 or 256 threads owns OWN queries and visits the keys in tiles. While the scores of a tile are made its values are on
 * their way to shared memory, and the next keys while values are gathered. Grid: blocks of a problem beside each other, the last first
 * as under a causal mask they are the longest. Shared memory: queries, a tile of keys, one of values, weights. */
#include "ops/cuda/flash_tile.h"

namespace
{

constexpr int INVALID_VALUE = 1; /* cudaErrorInvalidValue */

struct problem {
    int seq, dim, causal;
    float scale; /* times log2(e): exponentials are of base 2 */
    const float *q, *k, *v;
    float *o, *lse;
};

/* Blocks at once on a multiprocessor, which bounds the registers of a thread: to as many as make no thread spill. */
template <typename T> constexpr int AT_ONCE = T::THREADS > 128 ? 1 : T::ROWS > 4 ? 2 : 3;

template <typename T> struct forward_memory {
    float own[T::OWN_FLOATS], keys[T::SEEN_FLOATS], values[T::SEEN_FLOATS], weights[T::WEIGHTS_FLOATS];
};

/* A thread's own rows: the largest score so far, the thread's part of the sum, and what was gathered. */
template <typename T> struct online {
    float top[T::ROWS], sum[T::ROWS], out[T::ROWS][T::FEATURES];
};

template <typename T>
__device__ void hide(float (&s)[T::ROWS][T::COLS], const problem &p, int own, int seen, place<T> at)
{
#pragma unroll
    for (int i = 0; i < T::ROWS; i++)
#pragma unroll
        for (int j = 0; j < T::COLS; j++) {
            const int key = seen + at.x + j * T::ACROSS, query = own + at.y + i * T::DOWN;
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
__device__ void finish(const problem &p, const rows_of &like, int own, const online<T> &row, place<T> at)
{
#pragma unroll
    for (int i = 0; i < T::ROWS; i++) {
        const int query = own + at.y + i * T::DOWN;
        const float sum = row_sum<T>(row.sum[i]);
        store_row<T>(p.o, like, query, row.out[i], 1.0f / sum, at);
        if (query < p.seq && at.x == 0)
            p.lse[query] = (row.top[i] + log2f(sum)) * LN_2;
    }
}

template <typename T> __device__ problem problem_of(const pk_attention &at, size_t i)
{
    const size_t rows = i * at.seq, x = rows * at.dim;
    return {(int)at.seq, (int)at.dim, at.causal, at.scale * LOG2_E, at.q + x,
            at.k + x,    at.v + x,    at.o + x,  at.lse + rows};
}

template <typename T>
__global__ void __launch_bounds__(T::THREADS, AT_ONCE<T>) forward(const pk_attention all)
{
    PK_SHARED(forward_memory<T>, m);
    const unsigned blocks = (unsigned)((all.seq + T::OWN - 1) / T::OWN);
    const problem p = problem_of<T>(all, blockIdx.x / blocks);
    const int own = (int)(blocks - 1 - blockIdx.x % blocks) * T::OWN;
    const int end = p.causal && own + T::OWN < p.seq ? own + T::OWN : p.seq;
    const bool fours = p.dim % 4 == 0;
    const rows_of q = {p.q, p.seq, p.dim, fours}, k = {p.k, p.seq, p.dim, fours},
                  v = {p.v, p.seq, p.dim, fours};
    const place<T> at;
    online<T> row;
    clear<T>(row.out);
    for (int i = 0; i < T::ROWS; i++)
        row.top[i] = -INFINITY, row.sum[i] = 0;
    fetch<T, T::OWN>(m->own, q, own);
    fetch<T, T::SEEN>(m->keys, k, 0);
    for (int seen = 0; seen < end; seen += T::SEEN) {
        float s[T::ROWS][T::COLS];
        pk_fetch_wait();
        __syncthreads(); /* keys are here, the last values are done with */
        fetch<T, T::SEEN>(m->values, v, seen);
        multiply_rows<T>(s, m->own, m->keys, at);
#pragma unroll
        for (int i = 0; i < T::ROWS; i++)
#pragma unroll
            for (int j = 0; j < T::COLS; j++)
                s[i][j] *= p.scale;
        if (seen + T::SEEN > p.seq || (p.causal && seen + T::SEEN > own + 1))
            hide<T>(s, p, own, seen, at);
        weigh<T>(s, row);
        keep_weights<T>(m->weights, s, at);
        pk_fetch_wait();
        __syncthreads(); /* values and weights are here, the keys are done with */
        if (seen + T::SEEN < end)
            fetch<T, T::SEEN>(m->keys, k, seen + T::SEEN);
        gather<T>(row.out, m->weights, m->values, at);
    }
    finish<T>(p, q, own, row, at);
}

/* True when these tiles were launched: they fit, and they fill the chip or are the last choice. */
template <typename T>
bool launched(pk_stream s, const pk_chip *chip, const pk_attention *at, bool last, int *rc)
{
    const size_t bytes = sizeof(forward_memory<T>), blocks = blocks_of<T>(at);
    if (bytes > chip->shared_bytes || (!last && !keeps_busy<T>(at, chip)))
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
int launch(pk_stream s, const pk_chip *chip, const pk_attention *at)
{
    int rc = INVALID_VALUE;
    if (EIGHT && launched<tile<DIM, ACROSS, THREADS, EIGHT ? 8 : 4, COLS>>(s, chip, at, false, &rc))
        return rc;
    if (!launched<tile<DIM, ACROSS, THREADS, 4, COLS>>(s, chip, at, false, &rc) &&
        !launched<tile<DIM, ACROSS, THREADS, 2, COLS>>(s, chip, at, false, &rc))
        launched<tile<DIM, ACROSS, THREADS, 1, COLS>>(s, chip, at, true, &rc);
    return rc;
}

} // namespace

int pk_k_flash_forward(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at)
{
    if (!at->batch || !at->seq || !at->dim)
        return 0;
    if (at->seq > INT32_MAX / 2 || at->dim > PK_FLASH_DIM)
        return INVALID_VALUE;
    return at->dim <= 16    ? launch<16, 4, 128, 8, true>(s, chip, at)
           : at->dim <= 32  ? launch<32, 8, 128, 8, true>(s, chip, at)
           : at->dim <= 64  ? launch<64, 8, 128, 8, true>(s, chip, at)
           : at->dim <= 128 ? launch<128, 16, 256, 4, true>(s, chip, at)
                            : launch<256, 16, 256, 2, false>(s, chip, at);
}
