/* Flash forward, fp16x3: attention in fp32 by products of fp16 numbers on the tensor cores of compute capability 9.0 (wgmma.h).
 *
 * An operand is hi + lo, two fp16 numbers with 22 bits, times a power of two that makes the largest of its line 2^14 to 2^15: of a query, of
 * a key, of a feature in a tile of values. What is smaller than the largest of its line by more than 2^18 loses bits of lo: the error is at
 * most 2^-22 of the element or 2^-39 of the largest. Of the four products of such sums lo * lo is omitted, 2^-22 of the result. Weights are raised
 * to 2^15 at most. Tensor cores cut sums off toward zero (mma.h), so products of a tile begin at zero and are added to the running sums in fp32,
 * small ones first within a tile.
 *
 * `divide` makes the numbers once, in tiles of 64 rows as the tensor cores read them: a tile is one copy. Then blocks of 64 or 128 queries:
 * a warpgroup has 64 of them, one more thread copies keys and values, two tiles of each ahead. Grid: as flash_forward.cu. |k| < 2^100. */
#include "ops/cuda/attention/flash_online.h"
#include "ops/cuda/attention/flash_tile_3xtf32.h"
#include "ops/cuda/attention/wgmma.h"

#if !PK_HAS_WGMMA
#pragma nv_diag_suppress 177 /* what only the kernel needs */
#endif

namespace
{

constexpr int LINES = 64;            /* rows of a tile */
constexpr int NO_KERNEL_IMAGE = 209; /* cudaErrorNoKernelImageForDevice */
#if defined PK_SM90A || defined PK_CUDA_SHIM
constexpr bool BUILT = true;
#else
constexpr bool BUILT = false;
#endif

/* [N, LENGTH] as pk_lines has it; a line is hi + lo times its factor. */
template <int N, int LENGTH> struct alignas(16) operand {
    uint16_t hi[N * LENGTH], lo[N * LENGTH];
    float factor[N];
};

/* Of all problems: their queries, keys, and values with a line for each feature. */
template <int DIM> struct operands {
    operand<LINES, DIM> *q, *k;
    operand<DIM, LINES> *v;
    unsigned own, seen; /* tiles of a problem: of queries; of keys, and of values */
};

constexpr unsigned DIVIDERS = 256;

/* The power of two that raises a number of this size to 2^14 to 2^15, and its inverse; both are normal. */
struct powers {
    float up, down;
    __device__ explicit powers(float size)
    {
        const uint32_t least = 15, most = 254, exponent = pk_bits(size) >> 23;
        const uint32_t e = exponent < least ? least : exponent > most ? most : exponent;
        up = pk_float((268 - e) << 23);
        down = pk_float((e - 14) << 23);
    }
};

/* hi and lo of 8 numbers. */
__device__ void divide8(const float (&x)[8], uint4 *hi, uint4 *lo)
{
    uint32_t high[4], low[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        high[i] = pk_f16_two(x[2 * i], x[2 * i + 1]);
        low[i] = pk_f16_two(x[2 * i] - pk_f16_low(high[i]), x[2 * i + 1] - pk_f16_high(high[i]));
    }
    *hi = {high[0], high[1], high[2], high[3]};
    *lo = {low[0], low[1], low[2], low[3]};
}

/* The lines of a tile: its rows, or with DOWN its columns. A thread has a part of one line. */
template <int N, int LENGTH, bool DOWN, int STRIDE>
__device__ void divide_lines(const float *tile, float (&sizes)[DIVIDERS], operand<N, LENGTH> *to)
{
    constexpr int PARTS = DIVIDERS / N, ALONG = DOWN ? STRIDE : 1;
    const int line = (int)threadIdx.x % N, part = (int)threadIdx.x / N;
    const float *x = tile + line * (DOWN ? 1 : STRIDE);
    float size = 0;
    for (int i = part; i < LENGTH; i += PARTS)
        size = fmaxf(size, fabsf(x[i * ALONG]));
    sizes[threadIdx.x] = size;
    __syncthreads();
    for (int i = 0; i < PARTS; i++)
        size = fmaxf(size, sizes[i * N + line]);
    const powers of(size);
    for (int chunk = part; chunk < LENGTH / 8; chunk += PARTS) {
        float v[8];
#pragma unroll
        for (int e = 0; e < 8; e++)
            v[e] = x[(8 * chunk + e) * ALONG] * of.up;
        divide8(v, reinterpret_cast<uint4 *>(to->hi) + chunk * N + line,
                reinterpret_cast<uint4 *>(to->lo) + chunk * N + line);
    }
    if (part == 0)
        to->factor[line] = of.down;
}

/* A tile a block: of each problem its queries, its keys, its values. Zeros beyond the end. */
template <int DIM> PK_KERNEL((DIVIDERS), divide, const pk_attention at, const operands<DIM> to)
{
    pk_wait_for_previous();
    constexpr int STRIDE = DIM + 1;
    __shared__ float tile[LINES * STRIDE], sizes[DIVIDERS];
    const unsigned each = to.own + 2 * to.seen, problem = blockIdx.x / each, i = blockIdx.x % each;
    const bool query = i < to.own, value = i >= to.own + to.seen;
    const unsigned first = query ? i : value ? i - to.own - to.seen : i - to.own;
    const rows_of from(at, query ? at.q : value ? at.v : at.k, problem);
    for (int e = (int)threadIdx.x; e < LINES * DIM; e += (int)DIVIDERS) {
        const int row = (int)first * LINES + e / DIM, column = e % DIM;
        tile[e / DIM * STRIDE + column] =
            row < from.seq && column < from.dim ? from.x[(size_t)row * (size_t)from.dim + column] : 0.0f;
    }
    __syncthreads();
    if (value)
        divide_lines<DIM, LINES, true, STRIDE>(tile, sizes, to.v + problem * to.seen + first);
    else
        divide_lines<LINES, DIM, false, STRIDE>(
            tile, sizes, query ? to.q + problem * to.own + first : to.k + problem * to.seen + first);
}

template <int DIM_, int GROUPS_> struct tile_fp16x3 {
    static constexpr int DIM = DIM_, GROUPS = GROUPS_, MULTIPLIERS = 128 * GROUPS;
    /* Up to this width queries stay in registers: read from shared memory they take all of its rate. */
    static constexpr bool HOLDS = DIM <= 64;
    /* Two warpgroups need more registers than nine warps have; a third, which copies, leaves them most of its own. */
    static constexpr bool TAKES = GROUPS > 1;
    static constexpr int THREADS = MULTIPLIERS + (TAKES ? 128 : 32), LEFT = 40, TAKEN = 232;
    static_assert(!TAKES || 128 * LEFT + MULTIPLIERS * TAKEN <= 65536, "the registers of a multiprocessor");
    static constexpr int OWN = LINES * GROUPS, SEEN = LINES, ROWS = 2, COLS = SEEN / 4, FEATURES = DIM / 4;
    static constexpr int RUN = 2, LANE_FIRST = 1, LANE_END = 4;
    static constexpr float RAISE = 15, LOWER = 0x1p-15f;
    typedef typename tile_3xtf32<DIM, 4, SEEN>::place place; /* warp w has rows 16 w to 16 w + 15 */
};

/* Tiles of keys, and of values, in shared memory. */
constexpr unsigned STAGES = 2;

template <typename T> struct fp16x3_memory {
    operand<LINES, T::DIM> q[T::GROUPS], k[STAGES];
    operand<T::DIM, LINES> v[STAGES];
    uint64_t q_here, k_here[STAGES], v_here[STAGES]; /* bytes of a tile */
    uint64_t k_done[STAGES], v_done[STAGES];         /* warps that have read a tile */
    destination to;
};

#if PK_HAS_WGMMA
template <typename T> __device__ void make_barriers(fp16x3_memory<T> *m)
{
    pk_bar_init(&m->q_here, 1);
    for (unsigned s = 0; s < STAGES; s++) {
        pk_bar_init(&m->k_here[s], 1);
        pk_bar_init(&m->v_here[s], 1);
        pk_bar_init(&m->k_done[s], 4 * T::GROUPS);
        pk_bar_init(&m->v_done[s], 4 * T::GROUPS);
    }
    pk_bar_made();
}

template <typename X> __device__ void copy(X *to, const X *from, unsigned n, uint64_t *bar)
{
    pk_bar_expect(bar, n * (unsigned)sizeof(X));
    pk_copy_bulk(to, from, n * (unsigned)sizeof(X), bar);
}

/* One thread: tiles in their order, each when the one before it in its place is done with. */
template <typename T>
__device__ void copy_tiles(fp16x3_memory<T> *m, const operands<T::DIM> &from, size_t problem,
                           unsigned own_tile, unsigned tiles)
{
    const operand<LINES, T::DIM> *k = from.k + problem * from.seen;
    const operand<T::DIM, LINES> *v = from.v + problem * from.seen;
    copy(m->q, from.q + problem * from.own + own_tile, T::GROUPS, &m->q_here);
    for (unsigned n = 0; n < tiles; n++) {
        const unsigned stage = n % STAGES, before = (n / STAGES + 1) % 2;
        pk_bar_wait(&m->k_done[stage], before);
        copy(&m->k[stage], k + n, 1, &m->k_here[stage]);
        pk_bar_wait(&m->v_done[stage], before);
        copy(&m->v[stage], v + n, 1, &m->v_here[stage]);
    }
}

/* Whole warps: the tile may be overwritten. */
__device__ void done_with(uint64_t *bar)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        pk_bar_arrive(bar);
}

/* A warpgroup's queries, hi or lo: 16 columns at a time, in registers or where they are in shared memory. */
template <typename T, bool HELD = T::HOLDS> struct queries {
    const uint16_t *lines;
    __device__ queries(const uint16_t *of, const typename T::place &) : lines(of)
    {
    }
    __device__ uint64_t operator[](unsigned c) const
    {
        return pk_lines(lines, LINES, 16 * c);
    }
};
template <typename T> struct queries<T, true> {
    uint32_t held[T::DIM / 16][4];
    __device__ queries(const uint16_t *of, const typename T::place &at)
    {
#pragma unroll
        for (int c = 0; c < T::DIM / 16; c++)
#pragma unroll
            for (int r = 0; r < 4; r++) {
                const int chunk = 2 * c + r / 2, line = at.own(r % 2) % LINES;
                held[c][r] = reinterpret_cast<const uint32_t *>(of)[(chunk * LINES + line) * 4 + at.t];
            }
    }
    __device__ const uint32_t (&operator[](unsigned c) const)[4]
    {
        return held[c];
    }
};

/* d += 64 queries times a tile's keys; the first product begins at zero. */
template <typename T>
__device__ void add_product(float (&d)[LINES / 2], const queries<T> &q, const uint16_t *k, bool first)
{
#pragma unroll
    for (unsigned c = 0; c < T::DIM / 16; c++)
        pk_wgmma(d, q[c], pk_lines(k, LINES, 16 * c), !first || c);
}

/* Scores of a warpgroup's queries and a tile's keys, small products first. */
template <typename T>
__device__ void multiply(float (&s)[T::ROWS][T::COLS], const queries<T> &q_hi, const queries<T> &q_lo,
                         const operand<LINES, T::DIM> &k, const float (&scale)[T::ROWS],
                         const typename T::place &at)
{
    float d[LINES / 2];
    pk_wgmma_begin();
    add_product<T>(d, q_lo, k.hi, true);
    add_product<T>(d, q_hi, k.lo, false);
    add_product<T>(d, q_hi, k.hi, false);
    pk_wgmma_end(d);
#pragma unroll
    for (int j = 0; j < T::COLS; j++) {
        const float factor = k.factor[at.seen(j)];
#pragma unroll
        for (int i = 0; i < T::ROWS; i++)
            s[i][j] = d[j / 2 * 4 + 2 * i + j % 2] * factor * scale[i];
    }
}

/* out += weights times values. */
template <typename T>
__device__ void gather(float (&out)[T::ROWS][T::FEATURES], const float (&s)[T::ROWS][T::COLS],
                       const operand<T::DIM, LINES> &v, const typename T::place &at)
{
    constexpr int CHUNKS = LINES / 16;
    uint32_t hi[CHUNKS][4], lo[CHUNKS][4];
#pragma unroll
    for (int c = 0; c < CHUNKS; c++)
#pragma unroll
        for (int r = 0; r < 4; r++) {
            const float x = s[r % 2][4 * c + r / 2 * 2], y = s[r % 2][4 * c + r / 2 * 2 + 1];
            hi[c][r] = pk_f16_two(x, y);
            lo[c][r] = pk_f16_two(x - pk_f16_low(hi[c][r]), y - pk_f16_high(hi[c][r]));
        }
    float d[T::DIM / 2];
    pk_wgmma_begin();
#pragma unroll
    for (int c = 0; c < CHUNKS; c++)
        pk_wgmma(d, lo[c], pk_lines(v.hi, T::DIM, 16 * c), c);
#pragma unroll
    for (int c = 0; c < CHUNKS; c++)
        pk_wgmma(d, hi[c], pk_lines(v.lo, T::DIM, 16 * c), true);
#pragma unroll
    for (int c = 0; c < CHUNKS; c++)
        pk_wgmma(d, hi[c], pk_lines(v.hi, T::DIM, 16 * c), true);
    pk_wgmma_end(d);
#pragma unroll
    for (int f = 0; f < T::FEATURES; f++) {
        const float factor = v.factor[at.feature(f)];
#pragma unroll
        for (int i = 0; i < T::ROWS; i++)
            out[i][f] = fmaf(d[f / 2 * 4 + 2 * i + f % 2], factor, out[i][f]);
    }
}

/* A warpgroup: its 64 queries, from `own` on, see keys up to `end`. */
template <typename T>
__device__ void attend(fp16x3_memory<T> *m, const problem &p, int own, int end, online<T> &row,
                       const typename T::place &at)
{
    const operand<LINES, T::DIM> &q = m->q[threadIdx.x / 128];
    float scale[T::ROWS];
    pk_bar_wait(&m->q_here, 0);
#pragma unroll
    for (int i = 0; i < T::ROWS; i++)
        scale[i] = q.factor[at.own(i) % LINES] * p.scale;
    const queries<T> hi(q.hi, at), lo(q.lo, at);
    for (int seen = 0; seen < end; seen += T::SEEN) {
        const unsigned n = (unsigned)seen / T::SEEN, stage = n % STAGES, phase = n / STAGES % 2;
        float s[T::ROWS][T::COLS];
        pk_bar_wait(&m->k_here[stage], phase);
        multiply<T>(s, hi, lo, m->k[stage], scale, at);
        done_with(&m->k_done[stage]);
        if (seen + T::SEEN > p.seq || (p.causal && seen + T::SEEN > own + 1))
            hide<T>(s, p, own - own % T::OWN, seen, at);
        weigh<T>(s, row);
        pk_bar_wait(&m->v_here[stage], phase);
        gather<T>(row.out, s, m->v[stage], at);
        done_with(&m->v_done[stage]);
    }
}
#endif

template <typename T>
PK_KERNEL((T::THREADS, 1), forward, const pk_attention all, const cut parts, const operands<T::DIM> in)
{
    pk_wait_for_previous();
#if PK_HAS_WGMMA
    PK_SHARED(fp16x3_memory<T>, m);
    const unsigned blocks = in.own / T::GROUPS, block = blocks - 1 - parts.tile() % blocks;
    const size_t i_problem = parts.tile() / blocks;
    const problem p(all, i_problem);
    const int own = (int)block * T::OWN, last = p.causal && own + T::OWN < p.seq ? own + T::OWN : p.seq;
    if (threadIdx.x == 0) {
        make_barriers(m);
        m->to.o = static_cast<float *>(all.o) + i_problem * all.seq * all.dim;
        m->to.lse = all.lse + i_problem * all.seq;
    }
    __syncthreads();
    if (threadIdx.x >= T::MULTIPLIERS) {
        if constexpr (T::TAKES)
            pk_registers_leave<T::LEFT>();
        if (threadIdx.x == T::MULTIPLIERS)
            copy_tiles(m, in, i_problem, block * T::GROUPS, (unsigned)(last + LINES - 1) / LINES);
        return;
    }
    if constexpr (T::TAKES)
        pk_registers_take<T::TAKEN>();
    const typename T::place at;
    const int group = own + (int)threadIdx.x / 128 * LINES;
    online<T> row;
    clear<T>(row.out);
    for (int i = 0; i < T::ROWS; i++)
        row.top[i] = -INFINITY, row.sum[i] = 0;
    attend(m, p, group, p.causal && group + LINES < last ? group + LINES : last, row, at);
    finish<T>(m->to, p, own, row, at, all, parts);
#else
    __trap(); /* not reached: it is not launched */
#endif
}

template <int DIM> operands<DIM> operands_in(const call &c, float *memory, unsigned groups)
{
    const size_t tiles = (c.at->seq + LINES - 1) / LINES, own = (tiles + groups - 1) / groups * groups;
    operands<DIM> to;
    to.own = (unsigned)own, to.seen = (unsigned)tiles;
    to.q = reinterpret_cast<operand<LINES, DIM> *>(memory);
    to.k = to.q + own * c.at->batch;
    to.v = reinterpret_cast<operand<DIM, LINES> *>(to.k + tiles * c.at->batch);
    return to;
}

/* True when these tiles were launched: they fit, and their blocks fill the chip or they are the last choice. */
template <typename T> bool launched(const call &c, float *memory, bool last, int *rc)
{
    const size_t bytes = sizeof(fp16x3_memory<T>), blocks = blocks_of<T>(c);
    if (bytes > c.chip->shared_bytes || (!last && !fills<T>(c)))
        return false;
    const operands<T::DIM> in = operands_in<T::DIM>(c, memory, T::GROUPS);
    const size_t tiles = c.at->batch * (in.own + 2 * (size_t)in.seen);
    *rc = tiles > INT32_MAX ? INVALID_VALUE : PK_ALLOW_SHARED(forward<T>, bytes);
    if (!*rc)
        *rc = PK_LAUNCH(divide<T::DIM>, (unsigned)tiles, DIVIDERS, 0, c.s, *c.at, in);
    if (!*rc)
        *rc = PK_LAUNCH(forward<T>, (unsigned)blocks, T::THREADS, bytes, c.s, *c.at, c.parts, in);
    return true;
}

template <int DIM> int launch(const call &c, float *memory)
{
    int rc = INVALID_VALUE;
    if (!launched<tile_fp16x3<DIM, 2>>(c, memory, false, &rc))
        launched<tile_fp16x3<DIM, 1>>(c, memory, true, &rc);
    return rc;
}

} // namespace

int pk_k_flash_forward_fp16x3(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                              const struct pk_flash_parts *parts, float *memory)
{
    const call c(s, chip, at, parts, memory);
    if (!at->batch || !at->seq || !at->dim)
        return 0;
    if (!BUILT)
        return NO_KERNEL_IMAGE;
    if (at->seq > INT32_MAX / 2 || at->dim > PK_FLASH_3XTF32_DIM || parts->n > 1)
        return INVALID_VALUE;
    return at->dim <= 64 ? launch<64>(c, memory) : launch<128>(c, memory);
}
