/* Flash forward: attention of a block of queries without its score matrix (Dao et al. 2022; Milakov and
 * Gimelshein 2018 for the running softmax).
 *
 * Everything is transposed: a vector holds one number of VL queries. Then maxima and sums over keys need no
 * horizontal step, and K and V are only ever broadcast, so they are read where they lie. Per block: Q^T
 * packed once; per tile of keys: S^T = K Q^T, the running maximum m and sum l, P^T = 2^(S^T - m), O^T = O^T *
 * correction + V^T P^T. Scores are in units of log2: log2(e) is folded into Q with the scale. */
#include "ops/cpu/isa/table.h"
#include "ops/cpu/isa/tile.h"

enum {
    QUERIES = PK_FLASH_ROWS,
    KEYS = 128,          /* per tile: its scores of a group stay in the L1 cache */
    GROUP = TILE_NV * VL /* queries whose scores are computed together */
};

static const float log2_e = 0x1.715476p+0f, ln_2 = 0x1.62e430p-1f;

/* The scratch, and the running state of a block. */
struct forward_block {
    const struct pk_flash *f;
    size_t q0, queries;
    size_t width;      /* queries in whole vectors */
    float *qt;         /* [dim][QUERIES] */
    float *ot;         /* [dim][QUERIES] */
    float *top, *sum;  /* [QUERIES] */
    float *correction; /* [GROUP] */
    float *st;         /* [KEYS][GROUP]: scores, then probabilities */
};

size_t PK_ISA(pk_flash_forward_scratch_floats)(size_t dim)
{
    return 2 * dim * QUERIES + 2 * QUERIES + GROUP + KEYS * GROUP;
}

static struct forward_block lay_out(const struct pk_flash *f, size_t q0, float *scratch)
{
    struct forward_block b = {.f = f, .q0 = q0, .queries = f->seq - q0 < QUERIES ? f->seq - q0 : QUERIES};
    b.width = (b.queries + VL - 1) / VL * VL;
    b.qt = scratch;
    b.ot = b.qt + f->dim * QUERIES;
    b.top = b.ot + f->dim * QUERIES;
    b.sum = b.top + QUERIES;
    b.correction = b.sum + QUERIES;
    b.st = b.correction + GROUP;
    return b;
}

static void start(const struct forward_block *b)
{
    const size_t dim = b->f->dim;
    const float *q = b->f->q + b->q0 * dim;
    const float factor = b->f->scale * log2_e;
    for (size_t d = 0; d < dim; d++)
        for (size_t i = 0; i < b->width; i++)
            b->qt[d * QUERIES + i] = i < b->queries ? q[i * dim + d] * factor : 0;
    memset(b->ot, 0, dim * QUERIES * sizeof *b->ot);
    for (size_t i = 0; i < b->width; i++) {
        b->top[i] = -INFINITY;
        b->sum[i] = 0;
    }
}

static __attribute__((noinline)) void compute_scores(size_t n_vec, struct product p)
{
    product(TILE_TOP, n_vec, p);
}

static __attribute__((noinline)) void compute_masked_scores(size_t n_vec, struct product p)
{
    product(TILE_STORE, n_vec, p);
}

static __attribute__((noinline)) void accumulate_output(size_t n_vec, struct product p)
{
    product(TILE_RESCALE, n_vec, p);
}

/* Lanes of queries q .. q+VL-1 that may see `key`. */
PK_INLINE vi sees(size_t q, size_t key)
{
    vi lane;
    for (int i = 0; i < VL; i++)
        lane[i] = i;
    return lane + (int32_t)q >= (vi){0} + (int32_t)key;
}

/* Scores of a tile that the diagonal crosses: the masked ones become -inf, and the maxima are taken after
 * that. */
static void mask(const struct forward_block *b, size_t g, size_t n_vec, size_t k0, size_t keys, float *top)
{
    for (size_t v = 0; v < n_vec; v++) {
        vf t = vload(top + v * VL);
        for (size_t j = 0; j < keys; j++) {
            float *s = b->st + j * GROUP + v * VL;
            vi visible = sees(b->q0 + g + v * VL, k0 + j);
            vf masked = (vf)((visible & (vi)vload(s)) | (~visible & (vi)vset(-INFINITY)));
            vstore(s, masked);
            t = vmax(t, masked);
        }
        vstore(top + v * VL, t);
    }
}

/* One key's row on its way to the cache while exponentials are computed. */
PK_INLINE void fetch(const float *row, size_t dim)
{
    for (size_t d = 0; d < dim; d += 16)
        __builtin_prefetch(row + d, 0, 2);
}

/* P^T = 2^(S^T - top) over a tile, for nv vectors of queries from b->st's column `at` and group g's; their sums go on
 * from the corrected ones. As many rows are fetched from `ahead` on, unless it is NULL. Inlined for a constant nv and masked. */
PK_INLINE void probabilities(const int nv, const int masked, const struct forward_block *b, size_t g,
                             size_t at, size_t keys, const float *ahead)
{
    vf m[TILE_NV], l[TILE_NV];
    for (int v = 0; v < nv; v++) {
        m[v] = vload(b->top + g + at + v * VL);
        l[v] = vload(b->sum + g + at + v * VL) * vload(b->correction + at + v * VL);
    }
    float *st = b->st + at;
    for (size_t j = 0; j < keys; j++, st += GROUP) {
        if (ahead)
            fetch(ahead + j * b->f->dim, b->f->dim);
        for (int v = 0; v < nv; v++) {
            vf s = vload(st + v * VL), p = vexp2(s - m[v]);
            if (masked)
                p = vkeep(s > -INFINITY, p);
            vstore(st + v * VL, p);
            l[v] += p;
        }
    }
    for (int v = 0; v < nv; v++)
        vstore(b->sum + g + at + v * VL, l[v]);
}

/* What a group's softmax fetches for the next tile of keys: the first group K, the second V. */
static const float *next_rows(const struct pk_flash *f, size_t g, size_t next)
{
    if (g > GROUP || next + KEYS > f->seq)
        return NULL;
    return (g ? f->v : f->k) + next * f->dim;
}

static void softmax_tile(const struct forward_block *b, size_t g, size_t n_vec, size_t k0, size_t keys,
                         int masked)
{
    if (n_vec == TILE_NV && !masked) {
        probabilities(TILE_NV, 0, b, g, 0, keys, next_rows(b->f, g, k0 + KEYS));
        return;
    }
    for (size_t at = 0; at < n_vec * VL; at += VL)
        if (masked)
            probabilities(1, 1, b, g, at, keys, NULL);
        else
            probabilities(1, 0, b, g, at, keys, NULL);
}

/* One tile of keys against one group of queries. */
static void visit(const struct forward_block *b, size_t g, size_t n_vec, size_t k0, size_t keys)
{
    const struct pk_flash *f = b->f;
    const int masked = f->causal && k0 + keys > b->q0 + g + 1;
    if (f->causal && k0 >= b->q0 + g + n_vec * VL)
        return; /* these queries see none of these keys */
    float before[GROUP], *top = b->top + g;
    memcpy(before, top, n_vec * VL * sizeof *top);
    struct product s = {.m = keys,
                        .k = f->dim,
                        .a = f->k + k0 * f->dim,
                        .a_row = f->dim,
                        .a_col = 1,
                        .b = b->qt + g,
                        .ldb = QUERIES,
                        .c = b->st,
                        .ldc = GROUP,
                        .aux = top};
    if (masked) {
        s.aux = NULL;
        compute_masked_scores(n_vec, s);
        mask(b, g, n_vec, k0, keys, top);
    } else {
        compute_scores(n_vec, s);
    }
    for (size_t v = 0; v < n_vec * VL; v += VL)
        vstore(b->correction + v, vexp2(vload(before + v) - vload(top + v)));
    softmax_tile(b, g, n_vec, k0, keys, masked);
    accumulate_output(n_vec, (struct product){.m = f->dim,
                                              .k = keys,
                                              .a = f->v + k0 * f->dim,
                                              .a_row = 1,
                                              .a_col = f->dim,
                                              .b = b->st,
                                              .ldb = GROUP,
                                              .c = b->ot + g,
                                              .ldc = QUERIES,
                                              .aux = b->correction});
}

static void finish(const struct forward_block *b)
{
    const size_t dim = b->f->dim;
    float *o = b->f->o + b->q0 * dim;
    for (size_t i = 0; i < b->queries; i++) {
        float inverse = 1.0f / b->sum[i];
        for (size_t d = 0; d < dim; d++)
            o[i * dim + d] = b->ot[d * QUERIES + i] * inverse;
        b->f->lse[b->q0 + i] = b->top[i] * ln_2 + logf(b->sum[i]);
    }
}

void PK_ISA(pk_flash_forward)(const struct pk_flash *f, size_t q0, float *scratch)
{
    const struct forward_block b = lay_out(f, q0, scratch);
    const size_t vectors = b.width / VL, end = f->causal ? q0 + b.queries : f->seq;
    start(&b);
    for (size_t k0 = 0; k0 < end; k0 += KEYS) {
        size_t keys = end - k0 < KEYS ? end - k0 : KEYS;
        for (size_t v = 0; v < vectors; v += TILE_NV)
            visit(&b, v * VL, vectors - v < TILE_NV ? vectors - v : TILE_NV, k0, keys);
    }
    finish(&b);
}
