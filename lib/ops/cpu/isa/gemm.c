/* Gemm: a packed, cache-blocked product on one thread, after Goto and van de Geijn (2008): a panel of B for
 * the L2 cache, blocks of A beside it, tiles in registers. */
#include "ops/cpu/isa/table.h"
#include "ops/cpu/isa/tile.h"

enum {
    NR = TILE_NV * VL,
    BLOCK_K = 256,
    BLOCK_M = 96,
    BLOCK_N = 240 / NR * NR, /* B's panel: 240 KiB */
};

size_t PK_ISA(pk_sgemm_scratch_floats)(void)
{
    return BLOCK_K * BLOCK_N + BLOCK_M * BLOCK_K + BLOCK_M * NR;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* op(B)[k0 .. +nk, n0 .. +nn] as panels of [nk][NR], zeros past the edge. */
static void pack_b(const struct pk_sgemm *g, size_t k0, size_t nk, size_t n0, size_t nn, float *to)
{
    size_t k_step = g->b_trans ? 1 : g->ldb, n_step = g->b_trans ? g->ldb : 1;
    for (size_t j0 = 0; j0 < nn; j0 += NR)
        for (size_t k = 0; k < nk; k++)
            for (size_t j = j0; j < j0 + NR; j++)
                *to++ = j < nn ? g->b[(k0 + k) * k_step + (n0 + j) * n_step] : 0;
}

/* alpha * op(A)[m0 .. +nm, k0 .. +nk] as [nm][nk]. */
static void pack_a(const struct pk_sgemm *g, size_t m0, size_t nm, size_t k0, size_t nk, float *to)
{
    size_t m_step = g->a_trans ? 1 : g->lda, k_step = g->a_trans ? g->lda : 1;
    for (size_t i = 0; i < nm; i++)
        for (size_t k = 0; k < nk; k++)
            *to++ = g->alpha * g->a[(m0 + i) * m_step + (k0 + k) * k_step];
}

static void times_beta(const struct pk_sgemm *g)
{
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < g->n; j++)
            g->c[i * g->ldc + j] = g->beta == 0 ? 0 : g->beta * g->c[i * g->ldc + j];
}

static __attribute__((noinline)) void product_store(size_t n_vec, struct product p)
{
    product(TILE_STORE, n_vec, p);
}

/* One packed block of A times one panel of B, added to C through `t`: C's edge need not be a whole vector. */
static void add_panel(const struct pk_sgemm *g, const struct product *packed, size_t m0, size_t n0, size_t nn,
                      float *t)
{
    struct product p = *packed;
    p.c = t;
    p.ldc = NR;
    product_store(TILE_NV, p);
    for (size_t i = 0; i < p.m; i++) {
        float *c = g->c + (m0 + i) * g->ldc + n0;
        PK_ISA(pk_add)(PK_FP32, t + i * NR, c, nn);
    }
}

static void add_block(const struct pk_sgemm *g, size_t k0, size_t nk, size_t n0, size_t nn, float *scratch)
{
    float *b = scratch, *a = b + BLOCK_K * BLOCK_N, *t = a + BLOCK_M * BLOCK_K;
    pack_b(g, k0, nk, n0, nn, b);
    for (size_t m0 = 0; m0 < g->m; m0 += BLOCK_M) {
        size_t nm = least(BLOCK_M, g->m - m0);
        pack_a(g, m0, nm, k0, nk, a);
        struct product p = {.m = nm, .k = nk, .a = a, .a_row = nk, .a_col = 1, .ldb = NR};
        for (size_t j = 0; j < nn; j += NR) {
            p.b = b + j * nk;
            add_panel(g, &p, m0, n0 + j, least(NR, nn - j), t);
        }
    }
}

void PK_ISA(pk_sgemm)(const struct pk_sgemm *g, float *scratch)
{
    times_beta(g);
    for (size_t n0 = 0; n0 < g->n; n0 += BLOCK_N)
        for (size_t k0 = 0; k0 < g->k; k0 += BLOCK_K)
            add_block(g, k0, least(BLOCK_K, g->k - k0), n0, least(BLOCK_N, g->n - n0), scratch);
}

/* The same vector of B and the same column of A every step, so that nothing but multiply-adds can limit it.
 */
double PK_ISA(pk_peak)(size_t steps, float *scratch)
{
    float *a = scratch, *b = a + TILE_M, *c = b + NR;
    for (size_t i = 0; i < TILE_M + NR; i++)
        scratch[i] = 1.0f;
    struct product p = {
        .m = TILE_M, .k = steps, .a = a, .a_row = 1, .a_col = 0, .b = b, .ldb = 0, .c = c, .ldc = NR};
    product_store(TILE_NV, p);
    return 2.0 * TILE_M * NR * (double)steps;
}
