/* Flash backward: gradients of attention, scores made again tile by tile (Dao et al. 2022, algorithm 4).
 *
 * Three kernels, none of which adds to what another block writes, so that results are the same every time: row sums of dO * O, a warp a
 * row; dK and dV by blocks that own keys and see queries; dQ by blocks that own queries and see keys. The last two make the scores each
 * for itself: seven products. With five (flash_five.h) there is no third kernel: blocks that own keys add to dQ, which the first kernel
 * clears, and which then depends on the order in which blocks come.
 *
 * With seven, row sums take no memory of their own: those of each GROUP queries lie side by side where the dQ of these queries begins, until
 * the one block that owns the queries stores dQ over them. With five they are in the workspace, behind the results of parts. Blocks that own
 * keys fetch a tile's row sums and log-sum-exps with the tile.
 *
 * Where parts are cut (pk_flash_parts) a block sees one of them and stores into the workspace; add_parts makes one of the parts, in their
 * order, of dK and dV before dQ's are made in the same memory.
 *
 * Both have tiles alike: two arrays owned, two seen. Of the seen ones the first is needed until the end of a tile and therefore is there
 * twice, its next tile arriving meanwhile; the second arrives during the last product. 128 or 256 threads; the longest blocks first. */
#include "ops/cuda/attention/flash_five.h"

namespace
{

constexpr int WARP = 32;
constexpr int GROUP = 16; /* queries with row sums side by side: a block owns whole groups */

/* Where in the dQ of a problem the row sum of a query is. */
__device__ size_t place_of_sum(size_t query, size_t dim)
{
    return query / GROUP * GROUP * dim + query % GROUP;
}

struct backward_problem {
    rows_of q, k, v, d_o;
    const float *lse;
    float *dq, *dk, *dv;
    int seq, causal;
    float scale;
    __device__ backward_problem(const pk_attention &at, size_t i)
        : q(at, at.q, i), k(at, at.k, i), v(at, at.v, i), d_o(at, at.d_o, i), lse(at.lse + i * at.seq),
          dq(part(at, at.dq, i)), dk(part(at, at.dk, i)), dv(part(at, at.dv, i)), seq((int)at.seq),
          causal(at.causal), scale(at.scale)
    {
    }
    static __device__ float *part(const pk_attention &at, void *all, size_t i)
    {
        return static_cast<float *>(all) + i * at.seq * at.dim;
    }
};

/* Blocks at once on a multiprocessor, which bounds the registers of a thread: to as many as make no thread spill. */
template <typename T> constexpr int AT_ONCE = T::THREADS > 128 ? 1 : 2;

template <typename T> struct backward_memory {
    float own[2][T::OWN * T::STRIDE], lasting[2][T::SEEN * T::STRIDE], passing[T::SEEN * T::STRIDE],
        weights[T::WEIGHTS];
    float lse[2][T::SEEN], sums[2][T::SEEN]; /* of seen queries */
    float *dq;                               /* of the problem, like row sums: here they cost no registers */
    const float *all_sums;
};

/* Row sums of all problems with five products, one behind the other. */
float *sums_apart(const call &c)
{
    return c.five ? c.parts.memory + (c.parts.n > 1 ? 2 * c.parts.n * c.at->batch * c.at->seq * c.at->dim : 0)
                  : nullptr;
}

/* apart: where they are with five products, for which dQ is cleared; else NULL. */
PK_KERNEL((128), row_sums, const pk_attention at, float *apart)
{
    pk_wait_for_previous();
    const size_t row = (size_t)blockIdx.x * (128 / WARP) + threadIdx.x / WARP;
    if (row >= at.batch * at.seq)
        return; /* whole warps */
    const float *d_o = static_cast<const float *>(at.d_o) + row * at.dim;
    const float *o = static_cast<const float *>(at.o) + row * at.dim;
    float sum = 0;
    for (size_t c = threadIdx.x % WARP; c < at.dim; c += WARP) {
        sum = fmaf(d_o[c], o[c], sum);
        if (apart)
            static_cast<float *>(at.dq)[row * at.dim + c] = 0;
    }
    for (int step = WARP / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(ALL_LANES, sum, step);
    if (threadIdx.x % WARP == 0)
        (apart ? apart[row]
               : backward_problem::part(at, at.dq, row / at.seq)[place_of_sum(row % at.seq, at.dim)]) = sum;
}

/* SEEN queries from `first` on, with their log-sum-exps and row sums, into the places `to` of m: begun and not waited for. Beyond the end 0,
 * which makes weights that add nothing. */
template <typename T>
__device__ void fetch_queries(backward_memory<T> *m, int to, const backward_problem &p, const float *all_sums,
                              int first)
{
    fetch<T, T::SEEN>(m->lasting[to], p.q, first);
    for (int i = (int)threadIdx.x; i < T::SEEN; i += T::THREADS) {
        const int query = first + i;
        const bool real = query < p.seq;
        pk_fetch<4>(m->lse[to] + i, real ? p.lse + query : p.lse, real);
        pk_fetch<4>(m->sums[to] + i,
                    real ? all_sums + (FIVE<T> ? (size_t)query : place_of_sum((size_t)query, (size_t)p.q.dim))
                         : all_sums,
                    real);
    }
}

/* P in w and dS in d, of own keys and seen queries, from the products K Q^T in w and V dO^T in d. With five products keys beyond the end
 * are hidden, because dS adds to dQ. */
template <typename T>
__device__ void weights_of_keys(float (&w)[T::ROWS][T::COLS], float (&d)[T::ROWS][T::COLS],
                                const backward_problem &p, const float *lses, const float *sums, int own,
                                int seen, const typename T::place &at)
{
#pragma unroll
    for (int j = 0; j < T::COLS; j++) {
        const int query = seen + at.seen(j);
        const float lse = lses[at.seen(j)] * LOG2_E, sum = sums[at.seen(j)];
#pragma unroll
        for (int i = 0; i < T::ROWS; i++) {
            const int key = own + at.own(i);
            const bool hidden = (FIVE<T> && key >= p.seq) || (p.causal && key > query);
            w[i][j] = hidden ? 0 : pk_exp2(fmaf(w[i][j], p.scale * LOG2_E, -lse));
            d[i][j] = w[i][j] * (d[i][j] - sum);
        }
    }
}

/* Blocks own keys: dV += P^T dO, dK += dS^T Q, and with five products dQ += dS K. Sums of keys beyond the end are not stored. */
template <typename T>
PK_KERNEL((T::THREADS, AT_ONCE<T>), of_keys, const pk_attention all, const cut parts, const float *apart)
{
    pk_wait_for_previous();
    PK_SHARED(backward_memory<T>, m);
    const unsigned blocks = (unsigned)((all.seq + T::OWN - 1) / T::OWN);
    const size_t i_problem = parts.tile() / blocks;
    const backward_problem p(all, i_problem);
    const int own = (int)(parts.tile() % blocks) * T::OWN, first = p.causal ? own / T::SEEN * T::SEEN : 0;
    const int begin = first > parts.begin() ? first : parts.begin(), end = parts.end(p.seq);
    if (begin >= end)
        return; /* its keys are hidden from all of its queries */
    const float *const sums = FIVE<T> ? apart + i_problem * all.seq : p.dq;
    const typename T::place at;
    if (FIVE<T> && threadIdx.x == 0)
        m->dq = p.dq, m->all_sums = sums;
    float dk[T::ROWS][T::FEATURES], dv[T::ROWS][T::FEATURES];
    clear<T>(dk);
    clear<T>(dv);
    fetch<T, T::OWN>(m->own[0], p.k, own);
    fetch<T, T::OWN>(m->own[1], p.v, own);
    fetch_queries<T>(m, 0, p, sums, begin);
    fetch<T, T::SEEN>(m->passing, p.d_o, begin);
    int now = 0;
    for (int seen = begin; seen < end; seen += T::SEEN, now = !now) {
        float w[T::ROWS][T::COLS], d[T::ROWS][T::COLS];
        pk_fetch_wait();
        __syncthreads(); /* this tile is here, the last is done with */
        if (seen + T::SEEN < end)
            fetch_queries<T>(m, !now, p, FIVE<T> ? m->all_sums : sums, seen + T::SEEN);
        T::multiply(w, m->own[0], m->lasting[now], at);
        T::multiply(d, m->own[1], m->passing, at);
        weights_of_keys<T>(w, d, p, m->lse[now], m->sums[now], own, seen, at);
        T::keep(m->weights, w, at);
        __syncwarp();
        T::gather(dv, m->weights, w, m->passing, at);
        __syncthreads(); /* dO and P are done with */
        if (seen + T::SEEN < end)
            fetch<T, T::SEEN>(m->passing, p.d_o, seen + T::SEEN);
        if constexpr (FIVE<T>)
            T::publish(m->weights, d, at);
        else
            T::keep(m->weights, d, at);
        __syncwarp();
        T::gather(dk, m->weights, d, m->lasting[now], at);
        if constexpr (FIVE<T>) {
            __syncthreads(); /* dS of all keys of the block is here */
            T::add_to_queries(m->dq, p.q, seen, m->weights, m->own[0], p.scale, at);
        }
    }
    float *const to_dk = parts.n == 1 ? p.dk : parts.results(all, i_problem, 0),
                 *const to_dv = parts.n == 1 ? p.dv : parts.results(all, i_problem, 1);
#pragma unroll
    for (int i = 0; i < T::ROWS; i++) {
        if (p.causal && own + at.own(i) >= end)
            continue; /* no query of the part sees it */
        store_row<T>(to_dk, p.k, own + at.own(i), dk[i], p.scale, at);
        store_row<T>(to_dv, p.k, own + at.own(i), dv[i], 1, at);
    }
}

/* Blocks own queries: dQ += dS K. The row sums lie where dQ goes: a block reads its own before its first barrier and stores after its last. */
template <typename T> PK_KERNEL((T::THREADS, AT_ONCE<T>), of_queries, const pk_attention all, const cut parts)
{
    pk_wait_for_previous();
    PK_SHARED(backward_memory<T>, m);
    const unsigned blocks = (unsigned)((all.seq + T::OWN - 1) / T::OWN);
    const size_t i_problem = parts.tile() / blocks;
    const backward_problem p(all, i_problem);
    const int own = (int)(blocks - 1 - parts.tile() % blocks) * T::OWN, begin = parts.begin();
    const int end = parts.end(p.causal && own + T::OWN < p.seq ? own + T::OWN : p.seq);
    if (begin >= end)
        return; /* its keys are hidden from all of its queries */
    const typename T::place at;
    float dq[T::ROWS][T::FEATURES], lse[T::ROWS], sum[T::ROWS];
    clear<T>(dq);
#pragma unroll
    for (int i = 0; i < T::ROWS; i++) {
        const int query = own + at.own(i);
        lse[i] = query < p.seq ? p.lse[query] * LOG2_E : 0;
        sum[i] = query < p.seq ? p.dq[place_of_sum((size_t)query, (size_t)p.q.dim)] : 0;
    }
    fetch<T, T::OWN>(m->own[0], p.q, own);
    fetch<T, T::OWN>(m->own[1], p.d_o, own);
    fetch<T, T::SEEN>(m->lasting[0], p.k, begin);
    fetch<T, T::SEEN>(m->passing, p.v, begin);
    int now = 0;
    for (int seen = begin; seen < end; seen += T::SEEN, now = !now) {
        float w[T::ROWS][T::COLS], d[T::ROWS][T::COLS];
        pk_fetch_wait();
        __syncthreads();
        if (seen + T::SEEN < end)
            fetch<T, T::SEEN>(m->lasting[!now], p.k, seen + T::SEEN);
        T::multiply(w, m->own[0], m->lasting[now], at);
        T::multiply(d, m->own[1], m->passing, at);
#pragma unroll
        for (int i = 0; i < T::ROWS; i++) {
            const int query = own + at.own(i);
#pragma unroll
            for (int j = 0; j < T::COLS; j++) {
                const int key = seen + at.seen(j);
                const bool hidden = key >= p.seq || (p.causal && key > query);
                const float weight = pk_exp2(fmaf(w[i][j], p.scale * LOG2_E, -lse[i]));
                d[i][j] = hidden ? 0 : weight * (d[i][j] - sum[i]);
            }
        }
        T::keep(m->weights, d, at);
        __syncthreads(); /* V is done with */
        if (seen + T::SEEN < end)
            fetch<T, T::SEEN>(m->passing, p.v, seen + T::SEEN);
        T::gather(dq, m->weights, d, m->lasting[now], at);
    }
    float *const to = parts.n == 1 ? p.dq : parts.results(all, i_problem, 0);
#pragma unroll
    for (int i = 0; i < T::ROWS; i++)
        if (!p.causal || own + at.own(i) >= begin) /* it sees a key of the part */
            store_row<T>(to, p.q, own + at.own(i), dq[i], p.scale, at);
}

/* Where the parts of a row that see something are: queries see those up to their own, keys those from their own on. */
enum added { OF_QUERIES, OF_KEYS };

/* A row a warp: out = the sum of the parts in array `array` of memory, in their order. */
PK_KERNEL((128), add_parts, const pk_attention at, const cut parts, float *out, size_t array, added of)
{
    pk_wait_for_previous();
    const size_t row = (size_t)blockIdx.x * (128 / WARP) + threadIdx.x / WARP, rows = at.batch * at.seq;
    if (row >= rows)
        return; /* whole warps */
    const unsigned own = at.causal ? (unsigned)(row % at.seq) / (unsigned)parts.rows : 0;
    const unsigned first = at.causal && of == OF_KEYS ? own : 0,
                   end = at.causal && of == OF_QUERIES ? own + 1 : parts.n;
    for (size_t c = threadIdx.x % WARP; c < at.dim; c += WARP) {
        float sum = 0;
        for (size_t p = first; p < end; p++)
            sum += parts.memory[((array * parts.n + p) * rows + row) * at.dim + c];
        out[row * at.dim + c] = sum;
    }
}

int add(const call &c, void *out, size_t array, added of)
{
    if (c.parts.n == 1)
        return 0;
    return PK_LAUNCH(add_parts, (unsigned)c.blocks_for_rows(), 128, 0, c.s, *c.at, c.parts,
                     static_cast<float *>(out), array, of);
}

/* dK and dV, and with five products dQ. */
template <typename T> int launch_keys(const call &c)
{
    const size_t bytes = sizeof(backward_memory<T>);
    float *const apart = sums_apart(c);
    int rc = PK_ALLOW_SHARED(of_keys<T>, bytes);
    if (!rc)
        rc = PK_LAUNCH(of_keys<T>, (unsigned)blocks_of<T>(c), T::THREADS, bytes, c.s, *c.at, c.parts, apart);
    if (!rc)
        rc = add(c, c.at->dk, 0, OF_KEYS);
    return rc ? rc : add(c, c.at->dv, 1, OF_KEYS);
}

template <typename T> int launch_queries(const call &c)
{
    const size_t bytes = sizeof(backward_memory<T>);
    int rc = PK_ALLOW_SHARED(of_queries<T>, bytes);
    if (!rc)
        rc = PK_LAUNCH(of_queries<T>, (unsigned)blocks_of<T>(c), T::THREADS, bytes, c.s, *c.at, c.parts);
    return rc ? rc : add(c, c.at->dq, 0, OF_QUERIES); /* over the row sums, which have been read */
}

/* These tiles fit, and their blocks fill the chip or they are the last choice. */
template <typename T> bool suits(const call &c, bool last)
{
    static_assert(T::OWN % GROUP == 0, "a group has one block that stores over it");
    return sizeof(backward_memory<T>) <= c.chip->shared_bytes && (last || fills<T>(c));
}

/* True when these tiles were launched. */
template <typename T> bool launched(const call &c, bool last, int *rc)
{
    if (blocks_of<T>(c) > INT32_MAX)
        return *rc = INVALID_VALUE, true;
    if constexpr (T::DIM == 64 || T::DIM == 128)
        if (c.five)
            return suits<five<T>>(c, last) && (*rc = launch_keys<five<T>>(c), true);
    if (!suits<T>(c, last))
        return false;
    *rc = launch_keys<T>(c);
    if (!*rc)
        *rc = launch_queries<T>(c);
    return true;
}

/* What comes first in every backward pass, and whether the shape can be launched at all. */
int begin(const call &c, size_t widest)
{
    if (c.at->seq > INT32_MAX / 2 || c.blocks_for_rows() > INT32_MAX || c.at->dim > widest ||
        (c.five && (c.at->dim < PK_FLASH_FIVE_MIN || c.at->dim > PK_FLASH_FIVE_MAX)))
        return INVALID_VALUE;
    float *const apart = sums_apart(c);
    return PK_LAUNCH(row_sums, (unsigned)c.blocks_for_rows(), 128, 0, c.s, *c.at, apart);
}

/* Rows of a thread: many make more of each load, few make more blocks. */
template <int DIM, int ACROSS, int THREADS, int COLS, bool FOUR> int launch_ieee(const call &c)
{
    int rc = INVALID_VALUE;
    if (FOUR && launched<tile<DIM, ACROSS, THREADS, FOUR ? 4 : 2, COLS>>(c, false, &rc))
        return rc;
    if (!launched<tile<DIM, ACROSS, THREADS, 2, COLS>>(c, false, &rc))
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

} // namespace

int pk_k_flash_backward(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                        const struct pk_flash_parts *parts, float *memory)
{
    const call c(s, chip, at, parts, memory);
    if (!at->batch || !at->seq || !at->dim)
        return 0;
    const int rc = begin(c, PK_FLASH_DIM);
    if (rc)
        return rc;
    return at->dim <= 16    ? launch_ieee<16, 4, 128, 8, true>(c)
           : at->dim <= 32  ? launch_ieee<32, 8, 128, 8, true>(c)
           : at->dim <= 64  ? launch_ieee<64, 8, 128, 8, true>(c)
           : at->dim <= 128 ? launch_ieee<128, 16, 256, 4, true>(c)
                            : launch_ieee<256, 16, 256, 2, false>(c);
}

int pk_k_flash_backward_3xtf32(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                               const struct pk_flash_parts *parts, float *memory)
{
    const call c(s, chip, at, parts, memory);
    if (!at->batch || !at->seq || !at->dim)
        return 0;
    const int rc = begin(c, PK_FLASH_3XTF32_DIM);
    if (rc)
        return rc;
    return at->dim <= 16   ? launch_3xtf32<16, 32>(c)
           : at->dim <= 32 ? launch_3xtf32<32, 32>(c)
           : at->dim <= 64 ? launch_3xtf32<64, 32>(c)
                           : launch_3xtf32<128, 16>(c);
}
