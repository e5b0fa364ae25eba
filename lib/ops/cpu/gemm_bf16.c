/* Gemm of bf16 operands: tiles of C, by oneDNN where it has instructions for them, else by the product of fp32 over operands widened a
 * block at a time.
 *
 * A tile is gathered in fp32: in C itself when that is its type, else in scratch, and narrowed once. Products of bf16 elements are
 * exact in fp32 and sums are fp32 either way; where k is cut, the order of sums is the only difference. */
#include "ops/cpu/cpu_ops.h"
#include "ops/workspace.h"

enum {
    ROWS = 512, /* of a tile; ROWS_MIN where tiles are too few for the threads */
    ROWS_MIN = 64,
    COLS = 1024,
    DEPTH = 512,         /* of k, per block: what is widened stays in a cache while it is multiplied */
    TILES_PER_THREAD = 4 /* at least, so that threads do not wait long for the last */
};

struct gemm_bf16_job {
    const struct pk_gemm *g;
    const struct pk_cpu_run *run;
    const struct pk_bf16 *bf16;
    size_t rows, cols, depth; /* of a tile, and of a block of k */
    size_t down, across;      /* tiles of one problem */
};

struct product_tile {
    size_t m0, m, n0, n;
    const uint16_t *a, *b; /* of the problem */
    float *c;
    size_t ldc;
    float *wide_a, *wide_b; /* scratch */
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t parts(size_t n, size_t of)
{
    return (n + of - 1) / of;
}

/* rows x cols of x, ld apart, to dense fp32. */
static void widen(const struct gemm_bf16_job *j, const uint16_t *x, size_t ld, size_t rows, size_t cols,
                  float *wide)
{
    for (size_t r = 0; r < rows; r++)
        j->run->kernels->widen(x + r * ld, wide + r * cols, cols);
}

/* Elements m0 .. of op(A) from k0 on, as stored, and the same of B. */
static const uint16_t *a_at(const struct gemm_bf16_job *j, const struct product_tile *t, size_t k0)
{
    return j->g->ta == PK_T ? t->a + k0 * j->g->m + t->m0 : t->a + t->m0 * j->g->k + k0;
}

static const uint16_t *b_at(const struct gemm_bf16_job *j, const struct product_tile *t, size_t k0)
{
    return j->g->tb == PK_T ? t->b + t->n0 * j->g->k + k0 : t->b + k0 * j->g->n + t->n0;
}

static void by_onednn(const struct gemm_bf16_job *j, const struct product_tile *t)
{
    const struct pk_gemm *g = j->g;
    pk_bf16_gemm(j->bf16, &(struct pk_bf16_gemm){.a_trans = g->ta == PK_T,
                                                 .b_trans = g->tb == PK_T,
                                                 .m = t->m,
                                                 .n = t->n,
                                                 .k = g->k,
                                                 .alpha = g->alpha,
                                                 .beta = g->beta,
                                                 .a = a_at(j, t, 0),
                                                 .b = b_at(j, t, 0),
                                                 .c = t->c,
                                                 .lda = g->ta == PK_T ? g->m : g->k,
                                                 .ldb = g->tb == PK_T ? g->k : g->n,
                                                 .ldc = t->ldc});
}

static void block_widened(const struct gemm_bf16_job *j, const struct product_tile *t, size_t k0, size_t k,
                          unsigned thread)
{
    const struct pk_gemm *g = j->g;
    const bool ta = g->ta == PK_T, tb = g->tb == PK_T;
    widen(j, a_at(j, t, k0), ta ? g->m : g->k, ta ? k : t->m, ta ? t->m : k, t->wide_a);
    widen(j, b_at(j, t, k0), tb ? g->k : g->n, tb ? t->n : k, tb ? k : t->n, t->wide_b);
    pk_cpu_sgemm(j->run, thread,
                 &(struct pk_sgemm){.a_trans = ta,
                                    .b_trans = tb,
                                    .m = t->m,
                                    .n = t->n,
                                    .k = k,
                                    .alpha = g->alpha,
                                    .beta = k0 ? 1 : g->beta,
                                    .a = t->wide_a,
                                    .b = t->wide_b,
                                    .c = t->c,
                                    .lda = ta ? t->m : k,
                                    .ldb = tb ? k : t->n,
                                    .ldc = t->ldc});
}

static void product(const struct gemm_bf16_job *j, const struct product_tile *t, unsigned thread)
{
    if (j->bf16->product) {
        by_onednn(j, t);
        return;
    }
    for (size_t k0 = 0; k0 < j->g->k; k0 += j->depth)
        block_widened(j, t, k0, smaller(j->depth, j->g->k - k0), thread);
}

static void narrow_tile(const struct gemm_bf16_job *j, const struct product_tile *t, uint16_t *c)
{
    for (size_t r = 0; r < t->m; r++)
        j->run->kernels->narrow(t->c + r * t->ldc, c + r * j->g->n, t->n);
}

static void tile_task(void *arg, size_t task, unsigned thread)
{
    const struct gemm_bf16_job *j = arg;
    const struct pk_gemm *g = j->g;
    const size_t problem = task / (j->down * j->across), i = task % (j->down * j->across);
    const uint16_t *a = g->a, *b = g->b;
    struct product_tile t = {.m0 = i / j->across * j->rows, .n0 = i % j->across * j->cols};
    t.m = smaller(j->rows, g->m - t.m0);
    t.n = smaller(j->cols, g->n - t.n0);
    t.a = a + problem * g->m * g->k;
    t.b = b + problem * g->k * g->n;
    t.wide_a = pk_cpu_scratch(j->run, thread);
    t.wide_b = t.wide_a ? t.wide_a + j->rows * j->depth : NULL; /* no scratch: nothing is widened */
    const size_t at = (problem * g->m + t.m0) * g->n + t.n0;
    if (g->c_type == PK_FP32) {
        t.c = (float *)g->c + at;
        t.ldc = g->n;
        product(j, &t, thread);
        return;
    }
    uint16_t *c = (uint16_t *)g->c + at;
    t.c = t.wide_b + j->depth * j->cols;
    t.ldc = t.n;
    if (g->beta != 0)
        widen(j, c, g->n, t.m, t.n, t.c);
    product(j, &t, thread);
    narrow_tile(j, &t, c);
}

/* Rows of a tile: fewer, down to the least, where that gives every thread some tiles. */
static size_t rows_of_tile(unsigned threads, const struct pk_gemm *g, size_t across)
{
    const size_t wanted = (size_t)threads * TILES_PER_THREAD;
    size_t rows = smaller(ROWS, g->m);
    while (rows >= 2 * ROWS_MIN && parts(g->m, rows) * across * g->batch < wanted)
        rows /= 2;
    return rows;
}

static void multiply(struct pk_device *dev, const void *job)
{
    const struct gemm_bf16_job *j = job;
    pk_cpu_parallel_for(dev, tile_task, (void *)j, j->g->batch * j->down * j->across);
}

/* How the product is cut. Returns the floats of a thread's scratch. */
static size_t cut(struct gemm_bf16_job *j, unsigned threads, bool widened)
{
    const struct pk_gemm *g = j->g;
    j->cols = smaller(COLS, g->n);
    j->across = parts(g->n, j->cols);
    j->rows = rows_of_tile(threads, g, j->across);
    j->down = parts(g->m, j->rows);
    j->depth = widened ? smaller(DEPTH, g->k) : 0;
    return (j->rows + j->cols) * j->depth + (g->c_type == PK_BF16 ? j->rows * j->cols : 0);
}

size_t pk_workspace_cpu_gemm(const struct pk_gemm *g, unsigned threads)
{
    struct gemm_bf16_job j = {.g = g};
    return g->ab_type == PK_BF16 ? pk_cpu_run_bytes(threads, cut(&j, threads, true)) : 0;
}

enum pk_code pk_cpu_gemm_bf16(struct pk_device *dev, const struct pk_gemm *g, struct pk_err *err)
{
    struct pk_cpu_run run;
    struct gemm_bf16_job j = {.g = g, .run = &run, .bf16 = pk_cpu_bf16(dev)};
    if (pk_cpu_run_begin(dev, cut(&j, pk_cpu_threads(dev), !j.bf16->product), &run, err))
        return err->code;
    if (!j.bf16->product) {
        if (*j.bf16->widened)
            dev->notice = (struct pk_notice){"bf16_warning", j.bf16->widened, dev->notice.reported};
        pk_cpu_gemm_library(dev, g, &run, multiply, &j);
    }
    multiply(dev, &j);
    pk_cpu_run_end(dev, &run);
    return PK_OK;
}
