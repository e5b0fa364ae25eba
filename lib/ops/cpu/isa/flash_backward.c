/* Flash backward: gradients of attention from the log-sum-exp of each row, scores made again tile by tile
 * (Dao et al. 2022, algorithm 4).
 *
 * Blocks of queries are the outer loop, so that their transposes are packed once; a vector holds one number
 * of VL queries, as in flash_forward.c. Per tile of keys: S^T = K Q^T          P^T = 2^(S^T - lse) dP^T = V
 * dO^T        dS^T = P^T * (dP^T - delta) dV += P^T dO         dK += dS^T (scale * Q)     dQ^T += K^T dS^T
 * (scale at the end) */
#include "ops/cpu/isa/table.h"
#include "ops/cpu/isa/tile.h"

enum { QUERIES = PK_FLASH_ROWS, KEYS = 64 };

static const float log2_e = 0x1.715476p+0f;

struct backward_block {
    const struct pk_flash *f;
    size_t q0, queries;
    size_t width;          /* queries in whole vectors */
    size_t padded;         /* dim in whole vectors */
    float *qt, *dot, *dqt; /* [dim][QUERIES]: scale * log2(e) * Q^T, dO^T, dQ^T */
    float *q, *d_o;        /* [QUERIES][padded]: scale * Q, dO; zeros past queries and dim */
    float *lse, *delta;    /* [QUERIES]; lse in units of log2 */
    float *pt, *dst;       /* [KEYS][QUERIES] */
    float *part;           /* [KEYS][padded]: what a tile adds to dV, then dK */
};

static size_t pad(size_t dim)
{
    return (dim + VL - 1) / VL * VL;
}

size_t PK_ISA(pk_flash_backward_scratch_floats)(size_t dim)
{
    return 3 * dim * QUERIES + 2 * QUERIES * pad(dim) + 2 * QUERIES + 2 * KEYS * QUERIES + KEYS * pad(dim);
}

static struct backward_block lay_out(const struct pk_flash *f, float *scratch)
{
    struct backward_block b = {.f = f, .padded = pad(f->dim)};
    b.qt = scratch;
    b.dot = b.qt + f->dim * QUERIES;
    b.dqt = b.dot + f->dim * QUERIES;
    b.lse = b.dqt + f->dim * QUERIES;
    b.delta = b.lse + QUERIES;
    b.pt = b.delta + QUERIES;
    b.dst = b.pt + KEYS * QUERIES;
    b.q = b.dst + KEYS * QUERIES;
    b.d_o = b.q + QUERIES * b.padded;
    b.part = b.d_o + QUERIES * b.padded;
    return b;
}

/* Rows of x in their order and transposed, each with its own factor. */
static void pack(const struct backward_block *b, const float *x, float *rows, float row_factor,
                 float *columns_, float factor)
{
    const size_t dim = b->f->dim;
    memset(rows, 0, QUERIES * b->padded * sizeof *rows);
    for (size_t i = 0; i < b->queries; i++)
        PK_ISA(pk_scale)(PK_FP32, row_factor, x + (b->q0 + i) * dim, rows + i * b->padded, dim);
    for (size_t d = 0; d < dim; d++)
        for (size_t i = 0; i < b->width; i++)
            columns_[d * QUERIES + i] = i < b->queries ? x[(b->q0 + i) * dim + d] * factor : 0;
}

static void start(struct backward_block *b, size_t q0)
{
    const struct pk_flash *f = b->f;
    b->q0 = q0;
    b->queries = f->seq - q0 < QUERIES ? f->seq - q0 : QUERIES;
    b->width = (b->queries + VL - 1) / VL * VL;
    pack(b, f->q, b->q, f->scale, b->qt, f->scale * log2_e);
    pack(b, f->d_o, b->d_o, 1, b->dot, 1);
    memset(b->dqt, 0, f->dim * QUERIES * sizeof *b->dqt);
    for (size_t i = 0; i < b->width; i++) {
        size_t row = q0 + i;
        b->lse[i] = i < b->queries ? f->lse[row] * log2_e : 0;
        b->delta[i] = i < b->queries ? PK_ISA(pk_dot)(f->d_o + row * f->dim, f->o + row * f->dim, f->dim) : 0;
    }
}

static __attribute__((noinline)) void product_store(size_t n_vec, struct product p)
{
    product(TILE_STORE, n_vec, p);
}

static __attribute__((noinline)) void product_add(size_t n_vec, struct product p)
{
    product(TILE_ADD, n_vec, p);
}

/* Keys `first` .. see nothing of queries before them: those probabilities are 0. */
static void zero_masked(const struct backward_block *b, size_t k0, size_t keys)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t i = 0; i < b->width && b->q0 + i < k0 + j; i++)
            b->pt[j * QUERIES + i] = 0;
}

static void softmax_tile(const struct backward_block *b, size_t n_vec, size_t k0, size_t keys)
{
    for (size_t v = 0; v < n_vec * VL; v += VL) {
        const vf lse = vload(b->lse + v);
        for (size_t j = 0; j < keys; j++)
            vstore(b->pt + j * QUERIES + v, vexp2(vload(b->pt + j * QUERIES + v) - lse));
    }
    if (b->f->causal && k0 + keys > b->q0 + 1)
        zero_masked(b, k0, keys);
    for (size_t v = 0; v < n_vec * VL; v += VL) {
        const vf delta = vload(b->delta + v);
        for (size_t j = 0; j < keys; j++) {
            float *ds = b->dst + j * QUERIES + v;
            vstore(ds, vload(b->pt + j * QUERIES + v) * (vload(ds) - delta));
        }
    }
}

/* to[k0 ..] += W (rows of queries), W = P^T or dS^T of this tile. */
static void add_to_keys(const struct backward_block *b, const float *w, const float *rows, float *to,
                        size_t k0, size_t keys)
{
    product_store(b->padded / VL, (struct product){.m = keys,
                                                   .k = b->queries,
                                                   .a = w,
                                                   .a_row = QUERIES,
                                                   .a_col = 1,
                                                   .b = rows,
                                                   .ldb = b->padded,
                                                   .c = b->part,
                                                   .ldc = b->padded});
    for (size_t j = 0; j < keys; j++)
        PK_ISA(pk_add)(PK_FP32, b->part + j * b->padded, to + (k0 + j) * b->f->dim, b->f->dim);
}

static void visit(const struct backward_block *b, size_t k0, size_t keys)
{
    const struct pk_flash *f = b->f;
    const size_t n_vec = b->width / VL;
    struct product s = {.m = keys,
                        .k = f->dim,
                        .a = f->k + k0 * f->dim,
                        .a_row = f->dim,
                        .a_col = 1,
                        .b = b->qt,
                        .ldb = QUERIES,
                        .c = b->pt,
                        .ldc = QUERIES};
    product_store(n_vec, s);
    s.a = f->v + k0 * f->dim;
    s.b = b->dot;
    s.c = b->dst;
    product_store(n_vec, s);
    softmax_tile(b, n_vec, k0, keys);
    add_to_keys(b, b->pt, b->d_o, f->dv, k0, keys);
    add_to_keys(b, b->dst, b->q, f->dk, k0, keys);
    product_add(n_vec, (struct product){.m = f->dim,
                                        .k = keys,
                                        .a = f->k + k0 * f->dim,
                                        .a_row = 1,
                                        .a_col = f->dim,
                                        .b = b->dst,
                                        .ldb = QUERIES,
                                        .c = b->dqt,
                                        .ldc = QUERIES});
}

static void finish(const struct backward_block *b)
{
    const size_t dim = b->f->dim;
    float *dq = b->f->dq + b->q0 * dim;
    for (size_t i = 0; i < b->queries; i++)
        for (size_t d = 0; d < dim; d++)
            dq[i * dim + d] = b->dqt[d * QUERIES + i] * b->f->scale;
}

void PK_ISA(pk_flash_backward)(const struct pk_flash *f, size_t k0, size_t k1, float *scratch)
{
    struct backward_block b = lay_out(f, scratch);
    memset(f->dk + k0 * f->dim, 0, (k1 - k0) * f->dim * sizeof *f->dk);
    memset(f->dv + k0 * f->dim, 0, (k1 - k0) * f->dim * sizeof *f->dv);
    for (size_t q0 = 0; q0 < f->seq; q0 += QUERIES) {
        start(&b, q0);
        size_t end = f->causal && q0 + b.queries < k1 ? q0 + b.queries : k1;
        for (size_t k = k0; k < end; k += KEYS)
            visit(&b, k, end - k < KEYS ? end - k : KEYS);
        finish(&b);
    }
}
