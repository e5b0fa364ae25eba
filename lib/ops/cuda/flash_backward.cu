/* Flash backward: gradients of attention, scores made again tile by tile (Dao et al. 2022, algorithm 4).
 *
 * Three kernels, none of which adds to what another block writes, so that results are the same every time: row sums of dO * O, a warp a
 * row, kept in the first column of dQ until the block that owns the row overwrites it, so that nothing but results takes memory; dK and dV by blocks that own keys and see queries; dQ by blocks that own queries and see keys. The last two make the scores each
 * for itself: seven products where atomic additions would need five.
 *
 * Both have tiles alike: two arrays owned, two seen. Of the seen ones the first is needed until the end of a tile and therefore is there
 * twice, its next tile arriving meanwhile; the second arrives during the last product. 128 or 256 threads; the longest blocks first. */
#include "ops/cuda/flash_tile.h"

namespace
{

constexpr int WARP = 32, INVALID_VALUE = 1; /* cudaErrorInvalidValue */

struct problem {
    rows_of q, k, v, d_o;
    const float *lse, *sums; /* a sum every dim floats */
    int causal;
    float scale;
};

__device__ problem problem_of(const pk_attention &at, size_t i)
{
    const size_t rows = i * at.seq, x = rows * at.dim;
    const int seq = (int)at.seq, dim = (int)at.dim;
    const bool fours = dim % 4 == 0;
    return {{at.q + x, seq, dim, fours},
            {at.k + x, seq, dim, fours},
            {at.v + x, seq, dim, fours},
            {at.d_o + x, seq, dim, fours},
            at.lse + rows,
            at.dq + x,
            at.causal,
            at.scale};
}

/* Blocks at once on a multiprocessor, which bounds the registers of a thread: to as many as make no thread spill. */
template <typename T> constexpr int AT_ONCE = T::THREADS > 128 ? 1 : 2;

template <typename T> struct backward_memory {
    float own[2][T::OWN_FLOATS], lasting[2][T::SEEN_FLOATS], passing[T::SEEN_FLOATS],
        weights[T::WEIGHTS_FLOATS];
};

__global__ void __launch_bounds__(128) row_sums(const pk_attention at)
{
    const size_t row = (size_t)blockIdx.x * (128 / WARP) + threadIdx.x / WARP;
    if (row >= at.batch * at.seq)
        return; /* whole warps */
    float sum = 0;
    for (size_t c = threadIdx.x % WARP; c < at.dim; c += WARP)
        sum = fmaf(at.d_o[row * at.dim + c], at.o[row * at.dim + c], sum);
    for (int step = WARP / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (threadIdx.x % WARP == 0)
        at.dq[row * at.dim] = sum;
}

/* Of one query: log-sum-exp in base 2, and row sum. Beyond the end 0, which with rows of zeros makes weights that add nothing. */
struct query_row {
    float lse, sum;
    __device__ query_row(const problem &p, int query)
    {
        lse = query < p.q.seq ? p.lse[query] * LOG2_E : 0;
        sum = query < p.q.seq ? p.sums[(size_t)query * (size_t)p.q.dim] : 0;
    }
};

/* Blocks own keys: dV += P^T dO, dK += dS^T Q. Keys beyond the end gather what nobody stores. */
template <typename T>
__global__ void __launch_bounds__(T::THREADS, AT_ONCE<T>) of_keys(const pk_attention all)
{
    PK_SHARED(backward_memory<T>, m);
    const unsigned blocks = (unsigned)((all.seq + T::OWN - 1) / T::OWN);
    const size_t problem_number = blockIdx.x / blocks, x = problem_number * all.seq * all.dim;
    const problem p = problem_of(all, problem_number);
    const int own = (int)(blockIdx.x % blocks) * T::OWN, begin = p.causal ? own / T::SEEN * T::SEEN : 0;
    const place<T> at;
    float dk[T::ROWS][T::FEATURES], dv[T::ROWS][T::FEATURES];
    clear<T>(dk);
    clear<T>(dv);
    fetch<T, T::OWN>(m->own[0], p.k, own);
    fetch<T, T::OWN>(m->own[1], p.v, own);
    fetch<T, T::SEEN>(m->lasting[0], p.q, begin);
    fetch<T, T::SEEN>(m->passing, p.d_o, begin);
    int now = 0;
    for (int seen = begin; seen < p.q.seq; seen += T::SEEN, now = !now) {
        float w[T::ROWS][T::COLS], d[T::ROWS][T::COLS];
        pk_fetch_wait();
        __syncthreads(); /* this tile is here, the last is done with */
        if (seen + T::SEEN < p.q.seq)
            fetch<T, T::SEEN>(m->lasting[!now], p.q, seen + T::SEEN);
        multiply_rows<T>(w, m->own[0], m->lasting[now], at);
        multiply_rows<T>(d, m->own[1], m->passing, at);
#pragma unroll
        for (int j = 0; j < T::COLS; j++) {
            const int query = seen + at.x + j * T::ACROSS;
            const query_row row(p, query);
#pragma unroll
            for (int i = 0; i < T::ROWS; i++) {
                const bool hidden = p.causal && own + at.y + i * T::DOWN > query;
                w[i][j] = hidden ? 0 : pk_exp2(fmaf(w[i][j], p.scale * LOG2_E, -row.lse));
                d[i][j] = w[i][j] * (d[i][j] - row.sum);
            }
        }
        keep_weights<T>(m->weights, w, at);
        __syncwarp();
        gather<T>(dv, m->weights, m->passing, at);
        __syncthreads(); /* dO and P are done with */
        if (seen + T::SEEN < p.q.seq)
            fetch<T, T::SEEN>(m->passing, p.d_o, seen + T::SEEN);
        keep_weights<T>(m->weights, d, at);
        __syncwarp();
        gather<T>(dk, m->weights, m->lasting[now], at);
    }
#pragma unroll
    for (int i = 0; i < T::ROWS; i++) {
        store_row<T>(all.dk + x, p.k, own + at.y + i * T::DOWN, dk[i], p.scale, at);
        store_row<T>(all.dv + x, p.k, own + at.y + i * T::DOWN, dv[i], 1, at);
    }
}

/* Blocks own queries: dQ += dS K. The row sums lie where dQ goes: all are read before the last barrier, nothing is stored before. */
template <typename T>
__global__ void __launch_bounds__(T::THREADS, AT_ONCE<T>) of_queries(const pk_attention all)
{
    PK_SHARED(backward_memory<T>, m);
    const unsigned blocks = (unsigned)((all.seq + T::OWN - 1) / T::OWN);
    const size_t problem_number = blockIdx.x / blocks, x = problem_number * all.seq * all.dim;
    const problem p = problem_of(all, problem_number);
    const int own = (int)(blocks - 1 - blockIdx.x % blocks) * T::OWN;
    const int end = p.causal && own + T::OWN < p.q.seq ? own + T::OWN : p.q.seq;
    const place<T> at;
    float dq[T::ROWS][T::FEATURES];
    clear<T>(dq);
    fetch<T, T::OWN>(m->own[0], p.q, own);
    fetch<T, T::OWN>(m->own[1], p.d_o, own);
    fetch<T, T::SEEN>(m->lasting[0], p.k, 0);
    fetch<T, T::SEEN>(m->passing, p.v, 0);
    int now = 0;
    for (int seen = 0; seen < end; seen += T::SEEN, now = !now) {
        float w[T::ROWS][T::COLS], d[T::ROWS][T::COLS];
        pk_fetch_wait();
        __syncthreads();
        if (seen + T::SEEN < end)
            fetch<T, T::SEEN>(m->lasting[!now], p.k, seen + T::SEEN);
        multiply_rows<T>(w, m->own[0], m->lasting[now], at);
        multiply_rows<T>(d, m->own[1], m->passing, at);
#pragma unroll
        for (int i = 0; i < T::ROWS; i++) {
            const int query = own + at.y + i * T::DOWN;
            const query_row row(p, query);
#pragma unroll
            for (int j = 0; j < T::COLS; j++) {
                const int key = seen + at.x + j * T::ACROSS;
                const bool hidden = key >= p.q.seq || (p.causal && key > query);
                const float weight = pk_exp2(fmaf(w[i][j], p.scale * LOG2_E, -row.lse));
                d[i][j] = hidden ? 0 : weight * (d[i][j] - row.sum);
            }
        }
        keep_weights<T>(m->weights, d, at);
        __syncthreads(); /* V is done with */
        if (seen + T::SEEN < end)
            fetch<T, T::SEEN>(m->passing, p.v, seen + T::SEEN);
        gather<T>(dq, m->weights, m->lasting[now], at);
    }
#pragma unroll
    for (int i = 0; i < T::ROWS; i++)
        store_row<T>(all.dq + x, p.q, own + at.y + i * T::DOWN, dq[i], p.scale, at);
}

/* True when these tiles were launched: they fit, and they fill the chip or are the last choice. */
template <typename T>
bool launched(pk_stream s, const pk_chip *chip, const pk_attention *at, bool last, int *rc)
{
    const size_t bytes = sizeof(backward_memory<T>), blocks = blocks_of<T>(at);
    if (bytes > chip->shared_bytes || (!last && !keeps_busy<T>(at, chip)))
        return false;
    *rc = blocks > INT32_MAX ? INVALID_VALUE : PK_ALLOW_SHARED(of_keys<T>, bytes);
    if (!*rc)
        *rc = PK_ALLOW_SHARED(of_queries<T>, bytes);
    if (!*rc) {
        PK_LAUNCH(of_keys<T>, (unsigned)blocks, T::THREADS, bytes, s, *at);
        *rc = PK_LAUNCHED();
    }
    if (!*rc) {
        PK_LAUNCH(of_queries<T>, (unsigned)blocks, T::THREADS, bytes, s, *at);
        *rc = PK_LAUNCHED();
    }
    return true;
}

template <int DIM, int ACROSS, int THREADS, int COLS, bool FOUR>
int launch(pk_stream s, const pk_chip *chip, const pk_attention *at)
{
    int rc = INVALID_VALUE;
    if (FOUR && launched<tile<DIM, ACROSS, THREADS, FOUR ? 4 : 2, COLS>>(s, chip, at, false, &rc))
        return rc;
    if (!launched<tile<DIM, ACROSS, THREADS, 2, COLS>>(s, chip, at, false, &rc))
        launched<tile<DIM, ACROSS, THREADS, 1, COLS>>(s, chip, at, true, &rc);
    return rc;
}

} // namespace

int pk_k_flash_backward(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at)
{
    const size_t rows = at->batch * at->seq;
    if (!rows || !at->dim)
        return 0;
    if (at->seq > INT32_MAX / 2 || rows / 4 >= INT32_MAX || at->dim > PK_FLASH_DIM)
        return INVALID_VALUE;
    PK_LAUNCH(row_sums, (unsigned)((rows + 3) / 4), 128, 0, s, *at);
    if (PK_LAUNCHED())
        return PK_LAUNCHED();
    return at->dim <= 16    ? launch<16, 4, 128, 8, true>(s, chip, at)
           : at->dim <= 32  ? launch<32, 8, 128, 8, true>(s, chip, at)
           : at->dim <= 64  ? launch<64, 8, 128, 8, true>(s, chip, at)
           : at->dim <= 128 ? launch<128, 16, 256, 4, true>(s, chip, at)
                            : launch<256, 16, 256, 2, false>(s, chip, at);
}
