/* Workspace: bounds and cuts of the GPU's ops. */
#include "ops/workspace.h"

#include "device/pool.h"

enum {
    PARTS_MOST = 2 * 132,  /* of a sum over rows: two blocks a multiprocessor of an H100 or H200 */
    PART_ROWS = 8,         /* as many warps has a block: with fewer rows some would idle */
    ROWS_STEP = 64,        /* rows of a block are a multiple: tiles are whole */
    BLOCK_BYTES = 24 << 20 /* of scores: half of the L2 cache, or less, of the chips this is for */
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t pk_workspace_rounded(size_t bytes)
{
    return (bytes + PK_POOL_ALIGN - 1) / PK_POOL_ALIGN * PK_POOL_ALIGN;
}

/* A real number: no shape is too large for it. */
size_t pk_workspace_gemm(const struct pk_gemm *g)
{
    const double ab = (double)g->m * (double)g->k + (double)g->k * (double)g->n;
    const double c = (double)g->m * (double)g->n;
    const double bytes =
        (double)g->batch * (ab * (double)pk_dtype_bytes(g->ab_type) + c * (double)pk_dtype_bytes(g->c_type));
    return bytes < PK_GEMM_WORKSPACE_MOST ? pk_workspace_rounded((size_t)bytes) : PK_GEMM_WORKSPACE_MOST;
}

struct pk_fused_blocks pk_fused_blocks(const struct pk_attention *at)
{
    const size_t fit = BLOCK_BYTES / pk_dtype_bytes(at->dtype) / at->seq;
    struct pk_fused_blocks b = {.problems = 1};
    if (fit >= at->seq) {
        b.rows = at->seq;
        b.problems = smaller(fit / at->seq, at->batch);
    } else {
        b.rows = smaller(larger(fit / ROWS_STEP, 1) * ROWS_STEP, at->seq);
    }
    b.sums_apart = at->dtype == PK_BF16 && b.rows < at->seq;
    return b;
}

/* Products of [m, k] and [k, n]. */
static size_t product(const struct pk_attention *at, size_t m, size_t n, size_t k, size_t batch,
                      enum pk_dtype c_type)
{
    const struct pk_gemm g = {.m = m, .n = n, .k = k, .batch = batch, .ab_type = at->dtype, .c_type = c_type};
    return pk_workspace_gemm(&g);
}

size_t pk_workspace_fused_forward(const struct pk_attention *at)
{
    return product(at, at->seq, at->seq, at->dim, at->batch, at->dtype);
}

size_t pk_workspace_fused_backward(const struct pk_attention *at)
{
    const struct pk_fused_blocks b = pk_fused_blocks(at);
    const enum pk_dtype sums = b.sums_apart ? PK_FP32 : at->dtype;
    size_t bytes = pk_workspace_rounded(b.problems * b.rows * at->seq * pk_dtype_bytes(at->dtype));
    if (b.sums_apart)
        bytes += 2 * pk_workspace_rounded(at->seq * at->dim * sizeof(float));
    /* of dP (and dQ, which has as many operands), and of dV and dK */
    return bytes + larger(product(at, b.rows, at->seq, at->dim, b.problems, at->dtype),
                          product(at, at->seq, at->dim, b.rows, b.problems, sums));
}

size_t pk_norm_parts(const struct pk_norm_backward *n)
{
    return smaller((n->rows + PART_ROWS - 1) / PART_ROWS, PARTS_MOST);
}

size_t pk_workspace_norm_backward(const struct pk_norm_backward *n)
{
    return pk_workspace_rounded(pk_norm_parts(n) * n->cols * sizeof(float));
}

size_t pk_workspace_cudnn_backward(const struct pk_attention *at)
{
    const size_t rows = at->batch * at->seq;
    return pk_workspace_rounded(rows * sizeof(float)) + pk_workspace_rounded(rows * at->dim * sizeof(float));
}
