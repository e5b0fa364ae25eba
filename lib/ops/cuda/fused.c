/* Fused: attention as a graph compiler schedules it: products with the scale in them, one pass of softmax.
 *
 * Backward keeps dP, then dS over it, for a block of rows only: as many as stay in the L2 cache between the products that write and
 * read them. Several problems make a block when they are short. Its workspace is half of that cache, or ROWS_STEP rows. */
#include "ops/cuda/cuda_ops.h"

#include "device/cuda/cuda.h"
#include "ops/cuda/gemm_lt.h"
#include "ops/cuda/kernels.h"

enum { ROWS_STEP = 64 }; /* rows of a block are a multiple: tiles are whole */

/* [m, n] of every problem, from arrays whose rows are dense: ld is the columns as stored. */
static struct pk_lt_gemm product(size_t m, size_t n, size_t k, size_t batch)
{
    return (struct pk_lt_gemm){.m = m, .n = n, .k = k, .batch = batch, .alpha = 1};
}

enum pk_code pk_cuda_fused_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    const struct pk_gemm scores = {.m = at->seq,
                                   .n = at->seq,
                                   .k = at->dim,
                                   .batch = at->batch,
                                   .tb = PK_T,
                                   .alpha = at->scale,
                                   .a = at->q,
                                   .b = at->k,
                                   .c = at->p};
    const struct pk_gemm result = {.m = at->seq,
                                   .n = at->dim,
                                   .k = at->seq,
                                   .batch = at->batch,
                                   .alpha = 1,
                                   .a = at->p,
                                   .b = at->v,
                                   .c = at->o};
    const struct pk_lt_gemm first = pk_lt_of(&scores), second = pk_lt_of(&result);
    enum pk_code rc = pk_lt_gemm(dev, &first, err);
    if (!rc)
        rc = pk_cuda_check(dev,
                           pk_k_softmax(pk_cuda_stream(dev, PK_LANE_COMPUTE), at->p, at->p,
                                        at->batch * at->seq, at->seq, at->causal ? at->seq : 0),
                           "launching softmax", err);
    return rc ? rc : pk_lt_gemm(dev, &second, err);
}

/* `problems` problems from `first` on, rows r0 .. r0+rows-1 of each. Whole problems unless there is only one. */
struct block {
    size_t first, problems, r0, rows;
};

/* dP of the block, and dS over it, is ds: [problems, rows, seq]. dv and dk gather what the blocks of a problem add. */
static enum pk_code backward_block(struct pk_device *dev, const struct pk_attention *at,
                                   const struct block *b, float *ds, struct pk_err *err)
{
    const size_t seq = at->seq, dim = at->dim, tokens = seq * dim;
    const size_t x = (b->first * seq + b->r0) * dim, y = b->first * tokens;
    const float *p = at->p + (b->first * seq + b->r0) * seq;
    const float sum = b->r0 ? 1 : 0;
    struct pk_lt_gemm dp = product(b->rows, seq, dim, b->problems);
    dp.tb = PK_T;
    dp.a = at->d_o + x, dp.lda = dim, dp.stride_a = tokens;
    dp.b = at->v + y, dp.ldb = dim, dp.stride_b = tokens;
    dp.c = ds, dp.ldc = seq, dp.stride_c = b->rows * seq;
    struct pk_lt_gemm dv = product(seq, dim, b->rows, b->problems);
    dv.ta = PK_T, dv.beta = sum;
    dv.a = p, dv.lda = seq, dv.stride_a = seq * seq;
    dv.b = at->d_o + x, dv.ldb = dim, dv.stride_b = tokens;
    dv.c = at->dv + y, dv.ldc = dim, dv.stride_c = tokens;
    struct pk_lt_gemm dk = dv;
    dk.alpha = at->scale;
    dk.a = ds, dk.stride_a = b->rows * seq;
    dk.b = at->q + x;
    dk.c = at->dk + y;
    struct pk_lt_gemm dq = product(b->rows, dim, seq, b->problems);
    dq.alpha = at->scale;
    dq.a = ds, dq.lda = seq, dq.stride_a = b->rows * seq;
    dq.b = at->k + y, dq.ldb = dim, dq.stride_b = tokens;
    dq.c = at->dq + x, dq.ldc = dim, dq.stride_c = tokens;
    if (pk_lt_gemm(dev, &dp, err) || pk_lt_gemm(dev, &dv, err))
        return err->code;
    if (pk_cuda_check(dev,
                      pk_k_softmax_backward(pk_cuda_stream(dev, PK_LANE_COMPUTE), p, ds, ds,
                                            b->problems * b->rows, seq),
                      "launching the backward pass of softmax", err))
        return err->code;
    return pk_lt_gemm(dev, &dk, err) ? err->code : pk_lt_gemm(dev, &dq, err);
}

/* How many rows, or whole problems, a block has. */
static struct block first_block(const struct pk_device *dev, const struct pk_attention *at)
{
    const size_t fit = pk_cuda_traits(dev)->l2_bytes / 2 / (at->seq * sizeof(float));
    struct block b = {.problems = 1};
    if (fit >= at->seq) {
        b.rows = at->seq;
        b.problems = fit / at->seq < at->batch ? fit / at->seq : at->batch;
    } else {
        b.rows = fit < ROWS_STEP ? ROWS_STEP : fit / ROWS_STEP * ROWS_STEP;
        b.rows = b.rows < at->seq ? b.rows : at->seq;
    }
    return b;
}

enum pk_code pk_cuda_fused_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    const struct block most = first_block(dev, at);
    float *ds = pk_device_alloc(dev, most.problems * most.rows * at->seq * sizeof *ds, PK_TAG_WORKSPACE);
    if (!ds)
        return pk_device_oom(dev, err);
    enum pk_code rc = PK_OK;
    for (size_t i = 0; !rc && i < at->batch; i += most.problems)
        for (size_t r = 0; !rc && r < at->seq; r += most.rows) {
            const struct block b = {i, at->batch - i < most.problems ? at->batch - i : most.problems, r,
                                    at->seq - r < most.rows ? at->seq - r : most.rows};
            rc = backward_block(dev, at, &b, ds, err);
        }
    pk_device_free(dev, ds);
    return rc;
}
