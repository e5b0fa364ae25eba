/* Workspace: bounds and cuts of the GPU's ops. */
#include "ops/workspace.h"

#include "base/text/words.h"
#include "device/pool.h"

enum {
    MULTIPROCESSORS = 132,                   /* of an H100 or H200: two blocks each are enough to fill them */
    PARTS_MOST = 2 * MULTIPROCESSORS,        /* of a sum over rows */
    PART_ROWS = 8,                           /* as many warps has a block: with fewer rows some would idle */
    FLASH_BLOCKS_MOST = 2 * MULTIPROCESSORS, /* that parts make of few */
    /* of a part at least: reading and writing its results is a small part of the work */
    FLASH_PART_ROWS = 256,
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

/* A real number: no shape is too large for it. */
size_t pk_workspace_gemm(const struct pk_gemm *g)
{
    const double ab = (double)g->m * (double)g->k + (double)g->k * (double)g->n;
    const double c = (double)g->m * (double)g->n;
    const double bytes =
        (double)g->batch * (ab * (double)pk_dtype_bytes(g->ab_type) + c * (double)pk_dtype_bytes(g->c_type));
    return bytes < PK_GEMM_WORKSPACE_MAX ? pk_pool_rounded((size_t)bytes) : PK_GEMM_WORKSPACE_MAX;
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
    size_t bytes = pk_pool_rounded(b.problems * b.rows * at->seq * pk_dtype_bytes(at->dtype));
    if (b.sums_apart)
        bytes += 2 * pk_pool_rounded(at->seq * at->dim * sizeof(float));
    /* of dP (and dQ, which has as many operands), and of dV and dK */
    return bytes + larger(product(at, b.rows, at->seq, at->dim, b.problems, at->dtype),
                          product(at, at->seq, at->dim, b.rows, b.problems, sums));
}

/* As many parts as give each multiprocessor two blocks, where the one with most then has less to do than a block of the whole. */
struct pk_flash_parts pk_flash_parts(const struct pk_attention *at, bool backward)
{
    /* rows that a block owns where the tiles are the largest of ops/cuda/attention for the shape */
    const bool tensor = at->math == PK_MATH_3XTF32 || at->math == PK_MATH_FP16X3;
    const size_t usual = tensor || backward ? 64 : 128;
    const size_t tile = at->dim > 128 ? usual / 2 : usual, tiles = (at->seq + tile - 1) / tile;
    const int five = backward && at->dtype == PK_FP32 && at->dim >= PK_FLASH_FIVE_MIN &&
                     at->dim <= PK_FLASH_FIVE_MAX && pk_switched_on("PERFKIT_FIVE_PRODUCTS");
    const struct pk_flash_parts whole = {1, at->seq, five};
    if (tiles > MULTIPROCESSORS || at->batch > MULTIPROCESSORS || tiles * at->batch > MULTIPROCESSORS)
        return whole;
    const size_t blocks = tiles * at->batch;
    const size_t n = smaller(FLASH_BLOCKS_MOST / blocks, at->seq / FLASH_PART_ROWS);
    if (n <= (blocks * n + MULTIPROCESSORS - 1) / MULTIPROCESSORS)
        return whole;
    const size_t steps = ((at->seq + n - 1) / n + PK_FLASH_PART_STEP - 1) / PK_FLASH_PART_STEP;
    const size_t rows = steps * PK_FLASH_PART_STEP;
    return (struct pk_flash_parts){(at->seq + rows - 1) / rows, rows, five};
}

/* Of so many floats for each row. */
static size_t flash_bytes(const struct pk_attention *at, size_t floats)
{
    return floats ? pk_pool_rounded(at->batch * at->seq * floats * sizeof(float)) : 0;
}

bool pk_fp16x3_is_on(void)
{
    return pk_switched_on("PERFKIT_FP16X3");
}

bool pk_flash_has_fp16x3(const struct pk_attention *at)
{
    enum { NARROWEST = 33, WIDEST = 128 }; /* narrower heads would be padded with zeros to 64 features */
    return at->math == PK_MATH_FP16X3 && at->dim >= NARROWEST && at->dim <= WIDEST &&
           pk_flash_parts(at, false).n == 1;
}

size_t pk_workspace_flash_forward(const struct pk_attention *at)
{
    if (pk_flash_has_fp16x3(at))
        return pk_pool_rounded(pk_fp16x3_bytes(at));
    const size_t n = pk_flash_parts(at, false).n;
    return flash_bytes(at, n > 1 ? n * (at->dim + 2) : 0);
}

size_t pk_workspace_flash_backward(const struct pk_attention *at)
{
    const struct pk_flash_parts parts = pk_flash_parts(at, true);
    return flash_bytes(at, (parts.n > 1 ? 2 * parts.n * at->dim : 0) + (parts.five ? 1 : 0));
}

size_t pk_norm_parts(const struct pk_norm_backward *n)
{
    return smaller((n->rows + PART_ROWS - 1) / PART_ROWS, PARTS_MOST);
}

size_t pk_workspace_norm_backward(const struct pk_norm_backward *n)
{
    return pk_pool_rounded(pk_norm_parts(n) * n->cols * sizeof(float));
}

size_t pk_workspace_cudnn_backward(const struct pk_attention *at)
{
    const size_t rows = at->batch * at->seq;
    return pk_pool_rounded(rows * sizeof(float)) + pk_pool_rounded(rows * at->dim * sizeof(float));
}
