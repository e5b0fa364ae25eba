/* Rects: rectangles copied and filled, cut into tiles of equal numbers of units: a block of 256 threads a tile, no shared memory.
 *
 * A unit is the widest access that every row of a rectangle is aligned to: 16, 4 or 1 bytes of a copy, an element of a fill. Tiles are
 * counted over all rectangles; a block finds its rectangle by bisection. Eight units a thread are in flight.
 * Patches of tables: entries exchanged by their index. */
#include "ops/cuda/kernels.h"
#include "ops/cuda/launch.h"

namespace
{

constexpr unsigned THREADS = 256, EACH = 8, TILE = THREADS * EACH;
constexpr size_t A_LAUNCH = PK_RECTS_A_LAUNCH;

/* Pieces as an argument of the launch: nothing has to be uploaded. */
template <typename PIECE, size_t MOST> struct few {
    PIECE v[MOST];
};

/* The last piece that begins at the tile or before: those without tiles are passed over. */
template <typename PIECE> __device__ const PIECE &piece_of(const PIECE *v, size_t n, uint64_t tile)
{
    size_t low = 0, high = n;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if (v[middle].first_tile <= tile)
            low = middle;
        else
            high = middle;
    }
    return v[low];
}

/* Where the i-th unit of a tile is, i < TILE, in rows of `across` units: one long division a tile, short ones a unit. */
struct walk {
    uint64_t row, column, across;
    __device__ walk(uint64_t begin, uint64_t across_) : across(across_)
    {
        row = begin / across;
        column = begin % across;
    }
    __device__ uint64_t row_of(unsigned i) const
    {
        if (across >= TILE)
            return row + (column + i >= across);
        return row + ((unsigned)column + i) / (unsigned)across;
    }
    __device__ uint64_t column_of(unsigned i) const
    {
        if (across >= TILE)
            return column + i >= across ? column + i - across : column + i;
        return ((unsigned)column + i) % (unsigned)across;
    }
};

PK_EVERYWHERE inline size_t unit_bytes(const pk_copy2d &c)
{
    const size_t bits = (uintptr_t)c.src | (uintptr_t)c.dst | c.row_bytes | c.src_stride | c.dst_stride;
    return bits % 16 == 0 ? 16 : bits % 4 == 0 ? 4 : 1;
}

template <typename UNIT> __device__ void copy_tile(const pk_copy2d &c, uint64_t tile)
{
    const uint64_t across = c.row_bytes / sizeof(UNIT), begin = tile * TILE, all = across * c.rows;
    const walk w(begin, across);
    const auto *src = static_cast<const unsigned char *>(c.src);
    auto *dst = static_cast<unsigned char *>(c.dst);
    UNIT v[EACH];
#pragma unroll
    for (unsigned e = 0; e < EACH; e++) {
        const unsigned i = threadIdx.x + e * THREADS;
        if (begin + i < all)
            v[e] = *reinterpret_cast<const UNIT *>(src + w.row_of(i) * c.src_stride +
                                                   w.column_of(i) * sizeof(UNIT));
    }
#pragma unroll
    for (unsigned e = 0; e < EACH; e++) {
        const unsigned i = threadIdx.x + e * THREADS;
        if (begin + i < all)
            *reinterpret_cast<UNIT *>(dst + w.row_of(i) * c.dst_stride + w.column_of(i) * sizeof(UNIT)) =
                v[e];
    }
}

__device__ void copy_piece(const pk_copy_piece *v, size_t n)
{
    const pk_copy_piece &p = piece_of(v, n, blockIdx.x);
    const uint64_t tile = blockIdx.x - p.first_tile;
    const size_t unit = unit_bytes(p.c);
    if (unit == 16)
        copy_tile<uint4>(p.c, tile);
    else if (unit == 4)
        copy_tile<uint32_t>(p.c, tile);
    else
        copy_tile<unsigned char>(p.c, tile);
}

template <size_t MOST>
PK_KERNEL((THREADS), copy_few, const __grid_constant__ few<pk_copy_piece, MOST> pieces, size_t n)
{
    pk_wait_for_previous();
    copy_piece(pieces.v, n);
}

PK_KERNEL((THREADS), copy_table, const pk_copy_piece *table, size_t n)
{
    pk_wait_for_previous();
    copy_piece(table, n);
}

__device__ void set(float &to, float v)
{
    to = v;
}

__device__ void set(uint16_t &to, float v)
{
    to = pk_bf16_of_float(v);
}

/* Four elements in one store. */
template <typename T> struct alignas(4 * sizeof(T)) quad {
    T v[4];
};

template <typename T> __device__ void fill_tile(const pk_fill &f, uint64_t tile)
{
    const uint64_t begin = tile * TILE, all = (uint64_t)f.rows * f.cols;
    const walk w(begin, f.cols);
    const bool aligned = (uintptr_t)f.dst % sizeof(quad<T>) == 0;
    for (unsigned i = 4 * threadIdx.x; i < TILE && begin + i < all; i += 4 * THREADS) {
        quad<T> q;
#pragma unroll
        for (unsigned k = 0; k < 4; k++)
            set(q.v[k], pk_fill_value(f.seed, w.row_of(i + k) * f.columns + w.column_of(i + k)));
        T *to = static_cast<T *>(f.dst) + begin + i;
        if (aligned && begin + i + 4 <= all)
            *reinterpret_cast<quad<T> *>(to) = q;
        else
            for (unsigned k = 0; k < 4 && begin + i + k < all; k++)
                to[k] = q.v[k];
    }
}

template <size_t MOST>
PK_KERNEL((THREADS), fill_few, const __grid_constant__ few<pk_fill_piece, MOST> pieces, size_t n)
{
    pk_wait_for_previous();
    const pk_fill_piece &p = piece_of(pieces.v, n, blockIdx.x);
    if (p.f.dtype == PK_BF16)
        fill_tile<uint16_t>(p.f, blockIdx.x - p.first_tile);
    else
        fill_tile<float>(p.f, blockIdx.x - p.first_tile);
}

uint64_t tiles_of(uint64_t units)
{
    return (units + TILE - 1) / TILE;
}

/* Rows that follow each other without a gap are one row. */
pk_copy2d joined(pk_copy2d c)
{
    if (!c.rows || !c.row_bytes || (c.src_stride == c.row_bytes && c.dst_stride == c.row_bytes)) {
        c.row_bytes *= c.rows;
        c.rows = 1;
    }
    if (c.rows == 1)
        c.src_stride = c.dst_stride = c.row_bytes;
    return c;
}

uint64_t lay_down(const pk_fill *v, size_t n, pk_fill_piece *out)
{
    uint64_t tiles = 0;
    for (size_t i = 0; i < n; i++) {
        out[i].f = v[i];
        out[i].first_tile = tiles;
        tiles += tiles_of((uint64_t)v[i].rows * v[i].cols);
    }
    return tiles;
}

template <size_t MOST> int launch(pk_stream s, const pk_copy2d *v, size_t n)
{
    few<pk_copy_piece, MOST> pieces;
    const size_t tiles = pk_k_copy_pieces(v, n, pieces.v);
    return tiles ? PK_LAUNCH(copy_few<MOST>, (unsigned)tiles, THREADS, 0, s, pieces, n) : 0;
}

/* A patch a thread: reads a patch, writes an entry. */
PK_KERNEL((THREADS), patch_table, uint64_t *table, const pk_table_patch *v, size_t n)
{
    pk_wait_for_previous();
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        table[v[i].index] = v[i].value;
}

} // namespace

size_t pk_k_copy_pieces(const struct pk_copy2d *v, size_t n, struct pk_copy_piece *out)
{
    uint64_t tiles = 0;
    for (size_t i = 0; i < n; i++) {
        out[i].c = joined(v[i]);
        out[i].first_tile = tiles;
        tiles += tiles_of(out[i].c.rows * out[i].c.row_bytes / unit_bytes(out[i].c));
    }
    return tiles;
}

int pk_k_copy_table(pk_stream s, const struct pk_copy_piece *table, size_t n, size_t tiles)
{
    if (!tiles)
        return 0;
    return PK_LAUNCH(copy_table, (unsigned)tiles, THREADS, 0, s, table, n);
}

int pk_k_copy2d(pk_stream s, const struct pk_copy2d *v, size_t n)
{
    int rc = 0;
    if (n == 1)
        return launch<1>(s, v, 1);
    for (size_t i = 0; !rc && i < n; i += A_LAUNCH)
        rc = launch<A_LAUNCH>(s, v + i, n - i < A_LAUNCH ? n - i : A_LAUNCH);
    return rc;
}

int pk_k_fill(pk_stream s, const struct pk_fill *v, size_t n)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i += A_LAUNCH) {
        few<pk_fill_piece, A_LAUNCH> pieces;
        const size_t now = n - i < A_LAUNCH ? n - i : A_LAUNCH;
        const uint64_t tiles = lay_down(v + i, now, pieces.v);
        if (tiles)
            rc = PK_LAUNCH(fill_few<A_LAUNCH>, (unsigned)tiles, THREADS, 0, s, pieces, now);
    }
    return rc;
}

int pk_k_table_patch(pk_stream s, uint64_t *table, const struct pk_table_patch *v, size_t n)
{
    return PK_LAUNCH(patch_table, (unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, s, table, v, n);
}
