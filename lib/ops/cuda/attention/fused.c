/* Fused: attention as a graph compiler schedules it: products with the scale in them, one pass of softmax.
 *
 * Backward keeps dP, then dS over it, for a block of rows only: as many as stay in the L2 cache between the products that write and
 * read them. Several problems make a block when they are short (ops/workspace.h). Where a problem has several blocks they add to dk and dv; in bf16 that
 * is done beside them, in fp32, and rounded once. */
#include "ops/cuda/cuda_ops.h"

#include "device/cuda/cuda.h"
#include "ops/cuda/gemm/gemm.h"
#include "ops/cuda/kernels.h"

/* The i-th element. */
static const void *at_element(const void *x, enum pk_dtype type, size_t i)
{
    return (const char *)x + i * pk_dtype_bytes(type);
}

static void *to_element(void *x, enum pk_dtype type, size_t i)
{
    return (char *)x + i * pk_dtype_bytes(type);
}

/* Of all problems at once: rows of a and b are [seq, dim] or [seq, seq]. */
static enum pk_code whole(struct pk_device *dev, const struct pk_attention *at, struct pk_gemm g,
                          struct pk_err *err)
{
    g.m = at->seq;
    g.batch = at->batch;
    g.ab_type = g.c_type = at->dtype;
    g.math = at->math;
    const struct pk_lt_gemm lt = pk_lt_of(&g);
    return pk_lt_gemm(dev, &lt, err);
}

enum pk_code pk_cuda_fused_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    const struct pk_gemm scores = {
        .n = at->seq, .k = at->dim, .tb = PK_T, .alpha = at->scale, .a = at->q, .b = at->k, .c = at->p};
    const struct pk_gemm result = {
        .n = at->dim, .k = at->seq, .alpha = 1, .a = at->p, .b = at->v, .c = at->o};
    enum pk_code rc = whole(dev, at, scores, err);
    if (!rc)
        rc = pk_cuda_check(dev,
                           pk_k_softmax(pk_cuda_stream(dev, PK_LANE_COMPUTE), at->dtype, at->p, at->p,
                                        at->batch * at->seq, at->seq, at->causal ? at->seq : 0),
                           "launching softmax", err);
    return rc ? rc : whole(dev, at, result, err);
}

/* `problems` problems from `first` on, rows r0 .. r0+rows-1 of each. Whole problems unless there is only one. */
struct problem_block {
    size_t first, problems, r0, rows;
};

/* What backward takes of the pool. dk and dv: fp32 [seq, dim] sums of one problem, NULL where the results themselves will do. */
struct workspace {
    void *ds; /* a block's */
    float *dk, *dv;
};

/* [m, n] of every problem of a block, of the arrays' own type. */
static struct pk_lt_gemm product(const struct pk_attention *at, const struct problem_block *b, size_t m,
                                 size_t n, size_t k)
{
    return (struct pk_lt_gemm){.m = m,
                               .n = n,
                               .k = k,
                               .batch = b->problems,
                               .ab_type = at->dtype,
                               .c_type = at->dtype,
                               .math = at->math,
                               .alpha = 1};
}

/* dP of the block, and dS over it, is w->ds: [problems, rows, seq]. dv and dk gather what the blocks of a problem add. */
static enum pk_code backward_block(struct pk_device *dev, const struct pk_attention *at,
                                   const struct problem_block *b, const struct workspace *w,
                                   struct pk_err *err)
{
    const enum pk_dtype type = at->dtype;
    const size_t seq = at->seq, dim = at->dim, tokens = seq * dim;
    const size_t x = (b->first * seq + b->r0) * dim, y = b->first * tokens;
    const void *p = at_element(at->p, type, (b->first * seq + b->r0) * seq);
    struct pk_lt_gemm dp = product(at, b, b->rows, seq, dim);
    dp.tb = PK_T;
    dp.a = at_element(at->d_o, type, x), dp.lda = dim, dp.stride_a = tokens;
    dp.b = at_element(at->v, type, y), dp.ldb = dim, dp.stride_b = tokens;
    dp.c = w->ds, dp.ldc = seq, dp.stride_c = b->rows * seq;
    struct pk_lt_gemm dv = product(at, b, seq, dim, b->rows);
    dv.ta = PK_T, dv.beta = b->r0 ? 1 : 0;
    dv.c_type = w->dv ? PK_FP32 : type;
    dv.a = p, dv.lda = seq, dv.stride_a = seq * seq;
    dv.b = at_element(at->d_o, type, x), dv.ldb = dim, dv.stride_b = tokens;
    dv.c = w->dv ? w->dv : to_element(at->dv, type, y), dv.ldc = dim, dv.stride_c = tokens;
    struct pk_lt_gemm dk = dv;
    dk.alpha = at->scale;
    dk.a = w->ds, dk.stride_a = b->rows * seq;
    dk.b = at_element(at->q, type, x);
    dk.c = w->dk ? w->dk : to_element(at->dk, type, y);
    struct pk_lt_gemm dq = product(at, b, b->rows, dim, seq);
    dq.alpha = at->scale;
    dq.a = w->ds, dq.lda = seq, dq.stride_a = b->rows * seq;
    dq.b = at_element(at->k, type, y), dq.ldb = dim, dq.stride_b = tokens;
    dq.c = to_element(at->dq, type, x), dq.ldc = dim, dq.stride_c = tokens;
    if (pk_lt_gemm(dev, &dp, err) || pk_lt_gemm(dev, &dv, err))
        return err->code;
    if (pk_cuda_check(dev,
                      pk_k_softmax_backward(pk_cuda_stream(dev, PK_LANE_COMPUTE), type, p, w->ds, w->ds,
                                            b->problems * b->rows, seq),
                      "launching the backward pass of softmax", err))
        return err->code;
    return pk_lt_gemm(dev, &dk, err) ? err->code : pk_lt_gemm(dev, &dq, err);
}

static void give(struct pk_device *dev, const struct workspace *w)
{
    pk_device_free(dev, w->ds);
    pk_device_free(dev, w->dk);
    pk_device_free(dev, w->dv);
}

static enum pk_code allocate_blocks(struct pk_device *dev, const struct pk_attention *at,
                                    const struct pk_fused_blocks *most, struct workspace *w,
                                    struct pk_err *err)
{
    const size_t sums = most->sums_apart ? at->seq * at->dim * sizeof(float) : 0;
    *w = (struct workspace){
        .ds = pk_device_alloc(dev, most->problems * most->rows * at->seq * pk_dtype_bytes(at->dtype),
                              PK_TAG_WORKSPACE)};
    if (sums) {
        w->dk = pk_device_alloc(dev, sums, PK_TAG_WORKSPACE);
        w->dv = pk_device_alloc(dev, sums, PK_TAG_WORKSPACE);
    }
    if (w->ds && (!sums || (w->dk && w->dv)))
        return PK_OK;
    give(dev, w);
    return pk_device_oom(dev, err);
}

/* The sums of a problem as its results. */
static enum pk_code round_sums(struct pk_device *dev, const struct pk_attention *at, size_t problem,
                               const struct workspace *w, struct pk_err *err)
{
    const size_t n = at->seq * at->dim;
    const pk_stream s = pk_cuda_stream(dev, PK_LANE_COMPUTE);
    int rc = pk_k_narrow(s, w->dk, to_element(at->dk, at->dtype, problem * n), n);
    if (!rc)
        rc = pk_k_narrow(s, w->dv, to_element(at->dv, at->dtype, problem * n), n);
    return pk_cuda_check(dev, rc, "launching the rounding of sums", err);
}

enum pk_code pk_cuda_fused_backward_by(struct pk_device *dev, const struct pk_attention *at,
                                       const struct pk_fused_blocks *most, struct pk_err *err)
{
    struct workspace w;
    enum pk_code rc = allocate_blocks(dev, at, most, &w, err);
    if (rc)
        return rc;
    for (size_t i = 0; !rc && i < at->batch; i += most->problems) {
        for (size_t r = 0; !rc && r < at->seq; r += most->rows) {
            const struct problem_block b = {i,
                                            at->batch - i < most->problems ? at->batch - i : most->problems,
                                            r, at->seq - r < most->rows ? at->seq - r : most->rows};
            rc = backward_block(dev, at, &b, &w, err);
        }
        if (!rc && w.dk)
            rc = round_sums(dev, at, i, &w, err);
    }
    give(dev, &w);
    return rc;
}

enum pk_code pk_cuda_fused_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    const struct pk_fused_blocks most = pk_fused_blocks(at);
    return pk_cuda_fused_backward_by(dev, at, &most, err);
}
