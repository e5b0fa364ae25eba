/* Embed: rows of a table by token: a row a warp, blocks of 256 threads, four packs a lane in flight.
 *
 * Backward: the rows of each token summed in their order, without atomics on sums: results are the same every time.
 *
 * A block of 256 threads owns 32 tokens. Its warps look through a share of all tokens each and list the rows that are of an owned one; the
 * lists are sorted by token. Then a warp sums the rows of a token, three packs a lane of two rows in flight, or, where there are many, all
 * warps do and their sums are added. Tokens are read once a block (from the L2 cache), d_out once, d_table is written once; where a list is
 * full, what was found is added to d_table before more is looked for. */
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
constexpr unsigned LIST = 2 * STEP;                /* rows that a warp lists */
constexpr unsigned MANY = 64;                      /* rows of a token that are worth a block */
constexpr unsigned AT_ONCE = 2, COLUMNS = 3; /* rows that a warp has in flight, and packs of each a lane */
constexpr size_t ROWS_MOST = (size_t)1 << (32 - OWNED_BITS);

/* What a block found. Entries of a list are row << OWNED_BITS | token - first. */
struct found {
    union {
        uint32_t list[WARPS][LIST];
        float sums[WARPS * COLUMNS * FULL<bf16> *
                   WARP]; /* of warps that share a token, once lists are sorted */
    };
    uint32_t rows[WARPS * LIST];                   /* those of each token in their order, side by side */
    unsigned listed[WARPS], of_warp[WARPS][OWNED]; /* of_warp: entries of a token */
    unsigned place[WARPS][OWNED];                  /* in rows, of a warp's next entry of a token */
    unsigned begin[OWNED], of_token[OWNED], left;
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
                atomicAdd(&f.of_warp[warp][which[k]], 1u);
            }
            listed += (unsigned)__popc(all);
        }
    }
    if (lane == 0) {
        f.listed[warp] = listed;
        atomicAdd(&f.left, *at < last ? 1u : 0u);
    }
}

/* A thread for each warp and token: where the warp's entries of the token go. All threads of the block call it. */
__device__ void find_places(found &f)
{
    const unsigned token = threadIdx.x % OWNED, warp = threadIdx.x / OWNED;
    if (warp == 0) {
        unsigned all = 0;
        for (unsigned w = 0; w < WARPS; w++)
            all += f.of_warp[w][token];
        f.of_token[token] = all;
    }
    __syncthreads();
    unsigned place = 0;
    for (unsigned t = 0; t < token; t++)
        place += f.of_token[t];
    if (warp == 0)
        f.begin[token] = place;
    for (unsigned w = 0; w < warp; w++)
        place += f.of_warp[w][token];
    f.place[warp][token] = place;
}

/* Lanes of a warp whose entry is of the same token as the caller's, among those that have one. */
__device__ unsigned alike(bool real, unsigned token)
{
    unsigned lanes = __ballot_sync(ALL_LANES, real);
#pragma unroll
    for (unsigned b = 0; b < OWNED_BITS; b++) {
        const bool one = token >> b & 1;
        const unsigned ones = __ballot_sync(ALL_LANES, one);
        lanes &= one ? ones : ~ones;
    }
    return lanes;
}

/* A warp's entries to their places, in their order. */
__device__ void sort(found &f)
{
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, listed = f.listed[warp];
    for (unsigned begin = 0; begin < listed; begin += WARP) {
        const bool real = begin + lane < listed;
        const uint32_t entry = real ? f.list[warp][begin + lane] : 0;
        const unsigned same = alike(real, entry % OWNED),
                       before = (unsigned)__popc(same & ((1u << lane) - 1));
        unsigned *place = &f.place[warp][entry % OWNED];
        if (real)
            f.rows[*place + before] = entry >> OWNED_BITS;
        __syncwarp();
        if (real && before == 0)
            *place += (unsigned)__popc(same);
        __syncwarp();
    }
}

/* Adds packs first, first + WARP .. of n rows. */
template <typename T, int W>
__device__ void add_rows(const pk_embed_backward &e, const uint32_t *rows, unsigned n, unsigned first,
                         float (&sum)[COLUMNS][W])
{
    const unsigned packs = (unsigned)(e.cols / W);
    for (unsigned begin = 0; begin < n; begin += AT_ONCE) {
        pack<T, W> p[AT_ONCE][COLUMNS];
#pragma unroll
        for (unsigned k = 0; k < AT_ONCE; k++)
            if (begin + k < n) {
                const T *from = static_cast<const T *>(e.d_out) + rows[begin + k] * e.cols;
#pragma unroll
                for (unsigned c = 0; c < COLUMNS; c++)
                    if (first + c * WARP < packs)
                        p[k][c] = pack_at<W>(from, first + c * WARP);
            }
#pragma unroll
        for (unsigned k = 0; k < AT_ONCE; k++)
            if (begin + k < n)
#pragma unroll
                for (unsigned c = 0; c < COLUMNS; c++)
                    if (first + c * WARP < packs) {
                        float x[W];
                        widen(p[k][c], x);
#pragma unroll
                        for (int j = 0; j < W; j++)
                            sum[c][j] += x[j];
                    }
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
    for (unsigned begin = lane; begin < packs; begin += COLUMNS * WARP) {
        float sum[COLUMNS][W] = {};
        add_rows<T, W>(e, f.rows + f.begin[token], f.of_token[token], begin, sum);
#pragma unroll
        for (unsigned c = 0; c < COLUMNS; c++)
            if (begin + c * WARP < packs)
                put(to, begin + c * WARP, add, sum[c]);
    }
}

/* All warps of a block, each a share of the rows. */
template <typename T, int W>
__device__ void many(const pk_embed_backward &e, found &f, unsigned token, float *to, bool add)
{
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, packs = (unsigned)(e.cols / W);
    const unsigned rows = f.of_token[token], share = (rows + WARPS - 1) / WARPS;
    const unsigned first = min(warp * share, rows), last = min(first + share, rows);
    for (unsigned begin = 0; begin < packs; begin += COLUMNS * WARP) {
        float sum[COLUMNS][W] = {};
        add_rows<T, W>(e, f.rows + f.begin[token] + first, last - first, begin + lane, sum);
#pragma unroll
        for (unsigned c = 0; c < COLUMNS; c++)
#pragma unroll
            for (unsigned k = 0; k < W; k++)
                f.sums[((warp * COLUMNS + c) * W + k) * WARP + lane] = sum[c][k];
        __syncthreads();
        const unsigned i = begin + warp * WARP + lane; /* COLUMNS warps add up a column each */
        if (warp < COLUMNS && i < packs) {
            float all[W] = {};
            for (unsigned w = 0; w < WARPS; w++)
#pragma unroll
                for (unsigned k = 0; k < W; k++)
                    all[k] += f.sums[((w * COLUMNS + warp) * W + k) * WARP + lane];
            put(to, i, add, all);
        }
        __syncthreads();
    }
}

template <typename T, int W> __device__ void sum_found(const pk_embed_backward &e, found &f, bool add)
{
    const unsigned warp = threadIdx.x / WARP, first = blockIdx.x * OWNED;
    for (unsigned token = warp; token < OWNED && first + token < e.vocab; token += WARPS)
        if (f.of_token[token] < MANY && (f.of_token[token] || !add))
            few<T, W>(e, f, token, e.d_table + (first + token) * e.cols, add);
    for (unsigned token = 0; token < OWNED; token++)
        if (f.of_token[token] >= MANY)
            many<T, W>(e, f, token, e.d_table + (first + token) * e.cols, add);
}

template <typename T, int W> PK_KERNEL((BLOCK, 3), backward, const pk_embed_backward e)
{
    pk_wait_for_previous();
    __shared__ found f;
    const unsigned warp = threadIdx.x / WARP;
    const uint32_t rows = (uint32_t)e.rows, share = (rows + BLOCK - 1) / BLOCK * WARP;
    uint32_t at = min(warp * share, rows);
    const uint32_t last = min(at + share, rows);
    for (bool add = e.add;; add = true) {
        f.of_warp[warp][threadIdx.x % OWNED] = 0;
        if (threadIdx.x == 0)
            f.left = 0;
        __syncthreads();
        look(e, f, &at, last);
        __syncthreads();
        find_places(f);
        __syncwarp(); /* a warp has its own places */
        sort(f);
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
