/* Embed: rows of a table by token: a row a warp, blocks of 256 threads, four packs a lane in flight.
 *
 * Backward: the rows of each token summed in their order, without atomics on sums: results are the same every time.
 *
 * A block of 256 threads owns 32 tokens. Its warps look through a share of all tokens each and list the rows that are of an owned one; then a warp sums
 * the rows of a token, or, where there are many, all warps do and their sums are added. Tokens are read once a block (from the L2 cache), d_out
 * once, d_table is written once; where a list is full, what was found is added to d_table before more is looked for. */
#include "ops/cuda/kernels.h"
#include "ops/cuda/pack.h"
#include "ops/cuda/rows.h"

namespace
{

constexpr int BLOCK = 256, WARPS = BLOCK / WARP, EACH = 4;

template <typename T, int W> PK_KERNEL((BLOCK), look_up, const pk_embed e)
{
    pk_wait_for_previous();
    const size_t row = row_of_thread<WARP, BLOCK>();
    if (row >= e.rows)
        return;
    const unsigned packs = (unsigned)(e.cols / W);
    const T *from = static_cast<const T *>(e.table) + (size_t)e.tokens[row] * e.cols;
    T *to = static_cast<T *>(e.out) + row * e.cols;
    for (unsigned first = threadIdx.x % WARP; first < packs; first += EACH * WARP) {
        pack<T, W> p[EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (first + k * WARP < packs)
                p[k] = pack_at<W>(from, first + k * WARP);
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (first + k * WARP < packs)
                reinterpret_cast<pack<T, W> *>(to)[first + k * WARP] = p[k];
    }
}

template <typename T> int launch(pk_stream s, const pk_embed &e)
{
    const unsigned blocks = blocks_for_rows<WARP, BLOCK>(e.rows);
    if (pk_can_pack(pk_bits_of(e.table) | pk_bits_of(e.out) | e.cols * sizeof(T)))
        return PK_LAUNCH((look_up<T, FULL<T>>), blocks, BLOCK, 0, s, e);
    return PK_LAUNCH((look_up<T, 1>), blocks, BLOCK, 0, s, e);
}

constexpr unsigned OWNED = 32, OWNED_BITS = 5;
constexpr unsigned LOADS = 8, STEP = LOADS * WARP; /* tokens that a warp looks at together */
constexpr unsigned LIST = 3 * STEP;                /* rows that a warp lists */
constexpr unsigned MANY = 64;                      /* rows of a token that are worth a block */
constexpr unsigned AT_ONCE = 4;                    /* rows a warp has in flight */
constexpr size_t ROWS_MOST = (size_t)1 << (32 - OWNED_BITS);

/* What a block found: entries are row << OWNED_BITS | token - first. */
struct found {
    uint32_t list[WARPS][LIST];
    unsigned listed[WARPS], of_token[OWNED], left;
};

/* Lists what [*at, last) has of the owned tokens until the list may be full. */
__device__ void look(const pk_embed_backward &e, found &f, uint32_t *at, uint32_t last)
{
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, first = blockIdx.x * OWNED;
    const unsigned own = e.vocab - first < OWNED ? (unsigned)e.vocab - first : OWNED;
    unsigned listed = 0;
    for (; *at < last && listed + STEP <= LIST; *at += STEP) {
        unsigned which[LOADS];
#pragma unroll
        for (unsigned k = 0; k < LOADS; k++) {
            const uint32_t row = *at + k * WARP + lane;
            which[k] = row < last ? (unsigned)e.tokens[row] - first : OWNED;
        }
#pragma unroll
        for (unsigned k = 0; k < LOADS; k++) {
            const bool mine = which[k] < own;
            const unsigned all = __ballot_sync(ALL_LANES, mine);
            if (mine) {
                const unsigned place = listed + (unsigned)__popc(all & ((1u << lane) - 1));
                f.list[warp][place] = (*at + k * WARP + lane) << OWNED_BITS | which[k];
                atomicAdd(&f.of_token[which[k]], 1u);
            }
            listed += (unsigned)__popc(all);
        }
    }
    if (lane == 0) {
        f.listed[warp] = listed;
        atomicAdd(&f.left, *at < last ? 1u : 0u);
    }
}

/* Adds pack i of the rows that `all` has a bit for: lane j knows the j-th entry. */
template <typename T, int W>
__device__ void add_rows(const pk_embed_backward &e, uint32_t entry, unsigned all, unsigned i,
                         float (&sum)[W])
{
    const unsigned packs = (unsigned)(e.cols / W);
    while (all) {
        pack<T, W> p[AT_ONCE];
        unsigned taken = 0;
#pragma unroll
        for (unsigned k = 0; k < AT_ONCE; k++)
            if (all) {
                const uint32_t row = __shfl_sync(ALL_LANES, entry, __ffs(all) - 1) >> OWNED_BITS;
                all &= all - 1;
                if (i < packs)
                    p[k] = pack_at<W>(static_cast<const T *>(e.d_out) + row * e.cols, i);
                taken = k + 1;
            }
#pragma unroll
        for (unsigned k = 0; k < AT_ONCE; k++)
            if (k < taken && i < packs) {
                float x[W];
                widen(p[k], x);
#pragma unroll
                for (int j = 0; j < W; j++)
                    sum[j] += x[j];
            }
    }
}

/* Of the token's rows: all, or of every `step` pieces of the list those of one warp. */
template <typename T, int W>
__device__ void sum_rows(const pk_embed_backward &e, const found &f, unsigned token, unsigned i,
                         unsigned first, unsigned step, float (&sum)[W])
{
    const unsigned lane = threadIdx.x % WARP;
    unsigned piece = 0;
    for (int w = 0; w < WARPS; w++)
        for (unsigned begin = 0; begin < f.listed[w]; begin += WARP, piece++)
            if (piece % step == first) {
                const uint32_t entry = begin + lane < f.listed[w] ? f.list[w][begin + lane] : 0;
                const bool mine = begin + lane < f.listed[w] && entry % OWNED == token;
                add_rows<T, W>(e, entry, __ballot_sync(ALL_LANES, mine), i, sum);
            }
}

template <int W> __device__ void put(float *row, unsigned i, bool add, float (&sum)[W])
{
    if (add) {
        float before[W];
        load_pack<W>(row, i, before);
#pragma unroll
        for (int k = 0; k < W; k++)
            sum[k] += before[k];
    }
    store_pack(row, i, sum);
}

/* A warp alone. */
template <typename T, int W>
__device__ void few(const pk_embed_backward &e, const found &f, unsigned token, float *to, bool add)
{
    const unsigned lane = threadIdx.x % WARP, packs = (unsigned)(e.cols / W);
    for (unsigned begin = 0; begin < packs; begin += WARP) {
        float sum[W] = {};
        sum_rows<T, W>(e, f, token, begin + lane, 0, 1, sum);
        if (begin + lane < packs)
            put(to, begin + lane, add, sum);
    }
}

/* All warps of a block. */
template <typename T, int W>
__device__ void many(const pk_embed_backward &e, const found &f, unsigned token, float *to, bool add)
{
    __shared__ float part[WARPS][W][WARP];
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, packs = (unsigned)(e.cols / W);
    for (unsigned begin = 0; begin < packs; begin += WARP) {
        float sum[W] = {};
        sum_rows<T, W>(e, f, token, begin + lane, warp, WARPS, sum);
#pragma unroll
        for (int k = 0; k < W; k++)
            part[warp][k][lane] = sum[k];
        __syncthreads();
        if (warp == 0 && begin + lane < packs) {
            for (int w = 1; w < WARPS; w++)
#pragma unroll
                for (int k = 0; k < W; k++)
                    sum[k] += part[w][k][lane];
            put(to, begin + lane, add, sum);
        }
        __syncthreads();
    }
}

template <typename T, int W> __device__ void sum_found(const pk_embed_backward &e, const found &f, bool add)
{
    const unsigned warp = threadIdx.x / WARP, first = blockIdx.x * OWNED;
    for (unsigned token = warp; token < OWNED && first + token < e.vocab; token += WARPS)
        if (f.of_token[token] < MANY && (f.of_token[token] || !add))
            few<T, W>(e, f, token, e.d_table + (first + token) * e.cols, add);
    for (unsigned token = 0; token < OWNED; token++)
        if (f.of_token[token] >= MANY)
            many<T, W>(e, f, token, e.d_table + (first + token) * e.cols, add);
}

template <typename T, int W> PK_KERNEL((BLOCK, 2), backward, const pk_embed_backward e)
{
    pk_wait_for_previous();
    __shared__ found f;
    const unsigned warp = threadIdx.x / WARP;
    const uint32_t rows = (uint32_t)e.rows, share = (rows + BLOCK - 1) / BLOCK * WARP;
    uint32_t at = min(warp * share, rows);
    const uint32_t last = min(at + share, rows);
    for (bool add = e.add;; add = true) {
        if (threadIdx.x < OWNED)
            f.of_token[threadIdx.x] = 0;
        if (threadIdx.x == 0)
            f.left = 0;
        __syncthreads();
        look(e, f, &at, last);
        __syncthreads();
        sum_found<T, W>(e, f, add);
        const bool left = f.left;
        __syncthreads(); /* all have read what is written anew */
        if (!left)
            return;
    }
}

template <typename T> int launch(pk_stream s, const pk_embed_backward &e)
{
    const unsigned blocks = (unsigned)((e.vocab + OWNED - 1) / OWNED);
    if (pk_can_pack(pk_bits_of(e.d_out) | pk_bits_of(e.d_table) | e.cols * sizeof(T)))
        return PK_LAUNCH((backward<T, FULL<T>>), blocks, BLOCK, 0, s, e);
    return PK_LAUNCH((backward<T, 1>), blocks, BLOCK, 0, s, e);
}

} // namespace

int pk_k_embed(pk_stream s, const struct pk_embed *e)
{
    if (!e->rows || !e->cols)
        return 0;
    return e->dtype == PK_BF16 ? launch<bf16>(s, *e) : launch<float>(s, *e);
}

int pk_k_embed_backward(pk_stream s, const struct pk_embed_backward *e)
{
    if (!e->vocab || !e->cols)
        return 0;
    if (e->rows > ROWS_MOST)
        return 1; /* cudaErrorInvalidValue */
    return e->dtype == PK_BF16 ? launch<bf16>(s, *e) : launch<float>(s, *e);
}
