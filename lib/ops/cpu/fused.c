/* Fused: attention as a graph compiler schedules it.
 *
 * The scale is folded into the products, softmax makes one pass over a row, probabilities are written once
 * and stored. Blocks of rows are small enough that their scores are still in the L2 cache when the next step
 * reads them. Backward is cut into key ranges when problems are too few (key_ranges.c); delta = rowsum(d_o *
 * o) stands for rowsum(dP * P), which a range could not know. Causal: what lies right of a block's diagonal
 * is not computed. Of bf16, arrays are widened before (attention_bf16.c), probabilities here: a block of them is made or read in fp32. */
#include "ops/cpu/cpu_ops.h"
#include "ops/workspace.h"

#include <string.h>

enum {
    BLOCK_BYTES = 512 << 10, /* scores of a block: half an L2 cache */
    ROWS_MIN = 32,
    ROWS_MAX = 256
};

struct fused_job {
    const struct pk_attention *at;
    const struct pk_cpu_run *run;
    size_t rows, blocks;
    const struct pk_key_ranges *ranges; /* backward */
};

/* Rows r0 .. r0+rows-1 of one problem against keys k0 .. k1-1. */
struct score_block {
    size_t problem, r0, rows, k0, k1;
    const float *q;     /* [rows, dim] */
    const float *k, *v; /* [k1 - k0, dim] */
    float *p;           /* [rows, k1 - k0], in rows of p_ld */
    size_t p_ld;
    uint16_t *stored; /* p in bf16, in rows of seq; NULL when p is fp32 */
};

static size_t rows_of_block(size_t seq)
{
    size_t rows = BLOCK_BYTES / sizeof(float) / seq / 16 * 16;
    rows = rows < ROWS_MIN ? ROWS_MIN : rows > ROWS_MAX ? ROWS_MAX : rows;
    return rows < seq ? rows : seq;
}

/* Of a thread. Forward: P of a block, where it is stored in bf16; backward: dS, and P likewise. */
static size_t scratch_floats(const struct pk_attention *at, bool backward)
{
    return ((size_t)(at->dtype == PK_BF16) + backward) * rows_of_block(at->seq) * at->seq;
}

/* scratch: room for the block's probabilities when they are stored in bf16. */
static struct score_block block_at(const struct fused_job *j, size_t problem, size_t r0, size_t k0, size_t k1,
                                   float *scratch)
{
    const struct pk_attention *at = j->at;
    struct score_block b = {.problem = problem, .r0 = r0, .k0 = k0, .k1 = k1};
    b.rows = at->seq - r0 < j->rows ? at->seq - r0 : j->rows;
    if (at->causal && b.k1 > r0 + b.rows)
        b.k1 = r0 + b.rows;
    size_t x = (problem * at->seq + r0) * at->dim, y = (problem * at->seq + k0) * at->dim;
    const float *q = at->q, *k = at->k, *v = at->v;
    const size_t at_p = (problem * at->seq + r0) * at->seq + k0;
    b.q = q + x;
    b.k = k + y;
    b.v = v + y;
    b.stored = at->dtype == PK_BF16 ? (uint16_t *)at->p + at_p : NULL;
    b.p = b.stored ? scratch : (float *)at->p + at_p;
    b.p_ld = b.stored ? k1 - k0 : at->seq;
    return b;
}

static void softmax_block(const struct fused_job *j, const struct score_block *b)
{
    const size_t seq = j->at->seq;
    for (size_t i = 0; i < b->rows; i++) {
        float *p = b->p + i * b->p_ld;
        size_t visible = j->at->causal ? b->r0 + i + 1 : seq;
        j->run->kernels->softmax(PK_FP32, p, p, visible);
        memset(p + visible, 0, (seq - visible) * sizeof *p);
        if (b->stored)
            j->run->kernels->narrow(p, b->stored + i * seq, seq);
    }
}

static void forward_task(void *arg, size_t task, unsigned thread)
{
    const struct fused_job *j = arg;
    const struct pk_attention *at = j->at;
    const size_t seq = at->seq, dim = at->dim;
    float *o = at->o;
    struct score_block b = block_at(j, task / j->blocks, (j->blocks - 1 - task % j->blocks) * j->rows, 0, seq,
                                    pk_cpu_scratch(j->run, thread));
    pk_cpu_sgemm(j->run, thread,
                 &(struct pk_sgemm){.m = b.rows,
                                    .n = b.k1,
                                    .k = dim,
                                    .b_trans = true,
                                    .alpha = at->scale,
                                    .a = b.q,
                                    .lda = dim,
                                    .b = b.k,
                                    .ldb = dim,
                                    .c = b.p,
                                    .ldc = b.p_ld});
    softmax_block(j, &b);
    pk_cpu_sgemm(j->run, thread,
                 &(struct pk_sgemm){.m = b.rows,
                                    .n = dim,
                                    .k = b.k1,
                                    .alpha = 1,
                                    .a = b.p,
                                    .lda = b.p_ld,
                                    .b = b.v,
                                    .ldb = dim,
                                    .c = o + (b.problem * seq + b.r0) * dim,
                                    .ldc = dim});
}

static enum pk_code forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    struct pk_cpu_run run;
    const size_t rows = rows_of_block(at->seq);
    if (pk_cpu_takes("fused_forward", at->dtype, at->math, err) ||
        pk_cpu_run_begin(dev, scratch_floats(at, false), &run, err))
        return err->code;
    struct fused_job j = {.at = at, .run = &run, .rows = rows};
    j.blocks = (at->seq + j.rows - 1) / j.rows;
    pk_cpu_parallel_for(dev, forward_task, &j, at->batch * j.blocks);
    pk_cpu_run_end(dev, &run);
    return PK_OK;
}

/* dS of a block from its P and dP, in ds. Right of the diagonal P is 0, so dS is. */
static void softmax_backward_block(const struct fused_job *j, const struct score_block *b, float *ds,
                                   size_t keys)
{
    const struct pk_attention *at = j->at;
    const float *d_o = at->d_o, *o = at->o;
    for (size_t i = 0; i < b->rows; i++) {
        size_t row = (b->problem * at->seq + b->r0 + i) * at->dim;
        float delta = j->run->kernels->dot(d_o + row, o + row, at->dim);
        j->run->kernels->softmax_backward_delta(b->p + i * b->p_ld, ds + i * keys, delta, ds + i * keys,
                                                keys);
    }
}

/* A block's rows of dq, and what it adds to dk and dv. */
static void backward_block(const struct fused_job *j, const struct score_block *b, float *dq, unsigned thread)
{
    const struct pk_attention *at = j->at;
    const size_t dim = at->dim, keys = b->k1 - b->k0;
    const size_t x = (b->problem * at->seq + b->r0) * dim, y = (b->problem * at->seq + b->k0) * dim;
    const float *d_o = at->d_o;
    float *ds = pk_cpu_scratch(j->run, thread), *dk_all = at->dk, *dv_all = at->dv;
    const struct pk_sgemm dp = {.m = b->rows,
                                .n = keys,
                                .k = dim,
                                .b_trans = true,
                                .alpha = 1,
                                .a = d_o + x,
                                .lda = dim,
                                .b = b->v,
                                .ldb = dim,
                                .c = ds,
                                .ldc = keys};
    const struct pk_sgemm dv = {.m = keys,
                                .n = dim,
                                .k = b->rows,
                                .a_trans = true,
                                .alpha = 1,
                                .beta = 1,
                                .a = b->p,
                                .lda = b->p_ld,
                                .b = d_o + x,
                                .ldb = dim,
                                .c = dv_all + y,
                                .ldc = dim};
    const struct pk_sgemm dk = {.m = keys,
                                .n = dim,
                                .k = b->rows,
                                .a_trans = true,
                                .alpha = at->scale,
                                .beta = 1,
                                .a = ds,
                                .lda = keys,
                                .b = b->q,
                                .ldb = dim,
                                .c = dk_all + y,
                                .ldc = dim};
    const struct pk_sgemm dq_rows = {.m = b->rows,
                                     .n = dim,
                                     .k = keys,
                                     .alpha = at->scale,
                                     .a = ds,
                                     .lda = keys,
                                     .b = b->k,
                                     .ldb = dim,
                                     .c = dq + b->r0 * dim,
                                     .ldc = dim};
    for (size_t i = 0; b->stored && i < b->rows; i++)
        j->run->kernels->widen(b->stored + i * at->seq, b->p + i * b->p_ld, keys);
    pk_cpu_sgemm(j->run, thread, &dp);
    pk_cpu_sgemm(j->run, thread, &dv);
    softmax_backward_block(j, b, ds, keys);
    pk_cpu_sgemm(j->run, thread, &dk);
    pk_cpu_sgemm(j->run, thread, &dq_rows);
}

static void backward_task(void *arg, size_t task, unsigned thread)
{
    const struct fused_job *j = arg;
    const size_t seq = j->at->seq, dim = j->at->dim;
    size_t problem = task / j->ranges->n, range = task % j->ranges->n;
    size_t k0 = pk_key_ranges_begin(j->ranges, range), k1 = pk_key_ranges_begin(j->ranges, range + 1);
    float *dq = pk_key_ranges_dq(j->ranges, problem, range), *dk = j->at->dk, *dv = j->at->dv;
    memset(dk + (problem * seq + k0) * dim, 0, (k1 - k0) * dim * sizeof(float));
    memset(dv + (problem * seq + k0) * dim, 0, (k1 - k0) * dim * sizeof(float));
    for (size_t r0 = 0; r0 < seq; r0 += j->rows) {
        /* after dS */
        struct score_block b =
            block_at(j, problem, r0, k0, k1, pk_cpu_scratch(j->run, thread) + j->rows * seq);
        if (b.k1 > b.k0)
            backward_block(j, &b, dq, thread);
        else
            memset(dq + r0 * dim, 0, b.rows * dim * sizeof *dq); /* before the diagonal */
    }
}

static enum pk_code backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    struct pk_cpu_run run;
    struct pk_key_ranges ranges;
    const size_t rows = rows_of_block(at->seq);
    if (pk_cpu_takes("fused_backward", at->dtype, at->math, err) ||
        pk_cpu_run_begin(dev, scratch_floats(at, true), &run, err))
        return err->code;
    enum pk_code rc = pk_key_ranges_init(&ranges, dev, at, err);
    if (!rc) {
        struct fused_job j = {.at = at, .run = &run, .rows = rows, .ranges = &ranges};
        pk_cpu_parallel_for(dev, backward_task, &j, at->batch * ranges.n);
        pk_key_ranges_sum(&ranges, dev, run.kernels);
    }
    pk_cpu_run_end(dev, &run);
    return rc;
}

enum pk_code pk_cpu_fused_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    return pk_cpu_attention_bf16(dev, at, false, forward, err);
}

enum pk_code pk_cpu_fused_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    return pk_cpu_attention_bf16(dev, at, true, backward, err);
}

static size_t forward_bytes(const struct pk_attention *at, unsigned threads)
{
    return pk_cpu_run_bytes(threads, scratch_floats(at, false));
}

static size_t backward_bytes(const struct pk_attention *at, unsigned threads)
{
    return pk_cpu_run_bytes(threads, scratch_floats(at, true)) + pk_key_ranges_bytes(at, threads);
}

size_t pk_workspace_cpu_fused(const struct pk_attention *at, bool backward, unsigned threads)
{
    return pk_cpu_attention_bf16_bytes(at, backward, threads, backward ? backward_bytes : forward_bytes);
}
