/* Norm: rows forward; backward in blocks of rows, each with its own sums of the weight's gradient. */
#include "ops/cpu/cpu_ops.h"
#include "ops/workspace.h"

#include <string.h>

static void norm_row(const struct pk_cpu_pass *p, size_t row)
{
    p->kernels->norm(p->op, row);
}

enum pk_code pk_cpu_norm(struct pk_device *dev, const struct pk_norm *n, struct pk_err *err)
{
    pk_cpu_each_row(dev, n, n->rows, n->cols, norm_row);
    return PK_OK;
}

/* Of the shape alone, so that sums are the same however many threads there are. */
enum { BLOCKS_MOST = 128, BLOCK_ROWS_LEAST = 16 };

struct backward_job {
    const struct pk_norm_backward *n;
    size_t rows;  /* of a block */
    float *parts; /* [blocks, cols] */
};

static void backward_block(const struct pk_cpu_pass *p, size_t block)
{
    const struct backward_job *j = p->op;
    const size_t cols = j->n->cols, begin = block * j->rows;
    float *d_w = j->parts + block * cols;
    memset(d_w, 0, cols * sizeof *d_w);
    for (size_t row = begin; row < begin + j->rows && row < j->n->rows; row++)
        p->kernels->norm_backward(j->n, row, d_w);
}

static size_t rows_of_block(const struct pk_norm_backward *n)
{
    const size_t even = (n->rows + BLOCKS_MOST - 1) / BLOCKS_MOST;
    return even > BLOCK_ROWS_LEAST ? even : BLOCK_ROWS_LEAST;
}

static size_t blocks_of(const struct pk_norm_backward *n)
{
    return (n->rows + rows_of_block(n) - 1) / rows_of_block(n);
}

size_t pk_workspace_cpu_norm_backward(const struct pk_norm_backward *n)
{
    return pk_workspace_rounded(blocks_of(n) * n->cols * sizeof(float));
}

enum pk_code pk_cpu_norm_backward(struct pk_device *dev, const struct pk_norm_backward *n, struct pk_err *err)
{
    struct backward_job j = {.n = n, .rows = rows_of_block(n)};
    const size_t blocks = blocks_of(n);
    j.parts = pk_device_alloc(dev, blocks * n->cols * sizeof *j.parts, PK_TAG_WORKSPACE);
    if (!j.parts)
        return pk_device_oom(dev, err);
    pk_cpu_each_row(dev, &j, blocks, j.rows * n->cols, backward_block);
    memcpy(n->d_w, j.parts, n->cols * sizeof *n->d_w);
    for (size_t block = 1; block < blocks; block++)
        pk_kernels_of(pk_cpu_isa(dev))->add(PK_FP32, j.parts + block * n->cols, n->d_w, n->cols);
    pk_device_free(dev, j.parts);
    return PK_OK;
}
