/* Rows: the elementwise and row-wise passes of attention. */
#include "ops/cpu/cpu_ops.h"

#include <math.h>
#include <string.h>

struct row_arrays {
    enum pk_dtype type;
    float alpha;
    const char *x, *dp;
    char *y;
    size_t n; /* of a row; of all elements where there are runs */
};

static size_t offset(const struct row_arrays *a, size_t element)
{
    return element * pk_dtype_bytes(a->type);
}

static void scale_run(const struct pk_cpu_pass *p, size_t run)
{
    const struct row_arrays *a = p->op;
    const size_t at = offset(a, run * PK_CPU_RUN);
    p->kernels->scale(a->type, a->alpha, a->x + at, a->y + at, pk_cpu_run_length(a->n, run));
}

enum pk_code pk_cpu_scale(struct pk_device *dev, enum pk_dtype type, float alpha, const void *x, void *y,
                          size_t n, struct pk_err *err)
{
    pk_cpu_each_run(dev, &(struct row_arrays){.type = type, .alpha = alpha, .x = x, .y = y, .n = n}, n,
                    scale_run);
    return PK_OK;
}

static void mask_row(const struct pk_cpu_pass *p, size_t row)
{
    const struct row_arrays *a = p->op;
    const size_t visible = row % a->n + 1;
    char *y = a->y + offset(a, row * a->n);
    memcpy(y, a->x + offset(a, row * a->n), offset(a, visible));
    if (a->type == PK_BF16)
        for (size_t i = visible; i < a->n; i++)
            ((uint16_t *)(void *)y)[i] = pk_bf16_of_float(-INFINITY);
    else
        for (size_t i = visible; i < a->n; i++)
            ((float *)(void *)y)[i] = -INFINITY;
}

enum pk_code pk_cpu_causal_mask(struct pk_device *dev, enum pk_dtype type, const void *x, void *y,
                                size_t batch, size_t seq, struct pk_err *err)
{
    pk_cpu_each_row(dev, &(struct row_arrays){.type = type, .x = x, .y = y, .n = seq}, batch * seq, seq,
                    mask_row);
    return PK_OK;
}

static void softmax_row(const struct pk_cpu_pass *p, size_t row)
{
    const struct row_arrays *a = p->op;
    const size_t at = offset(a, row * a->n);
    p->kernels->softmax(a->type, a->x + at, a->y + at, a->n);
}

enum pk_code pk_cpu_softmax(struct pk_device *dev, enum pk_dtype type, const void *s, void *p, size_t rows,
                            size_t cols, struct pk_err *err)
{
    pk_cpu_each_row(dev, &(struct row_arrays){.type = type, .x = s, .y = p, .n = cols}, rows, cols,
                    softmax_row);
    return PK_OK;
}

static void softmax_backward_row(const struct pk_cpu_pass *p, size_t row)
{
    const struct row_arrays *a = p->op;
    const size_t at = offset(a, row * a->n);
    p->kernels->softmax_backward(a->type, a->x + at, a->dp + at, a->y + at, a->n);
}

enum pk_code pk_cpu_softmax_backward(struct pk_device *dev, enum pk_dtype type, const void *p, const void *dp,
                                     void *ds, size_t rows, size_t cols, struct pk_err *err)
{
    pk_cpu_each_row(dev, &(struct row_arrays){.type = type, .x = p, .dp = dp, .y = ds, .n = cols}, rows, cols,
                    softmax_backward_row);
    return PK_OK;
}
