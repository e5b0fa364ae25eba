/* Rows: the elementwise and row-wise passes, cut into runs of whole rows. */
#include "ops/cpu/cpu_ops.h"

#include <math.h>
#include <string.h>

enum { TASK_FLOATS = 1 << 15 }; /* per task: long enough to hide its start, short enough to balance */

struct row_job {
    const struct pk_kernels *kernels;
    const float *x, *dp;
    float *y;
    size_t rows, cols, rows_per_task;
    void (*row)(const struct row_job *j, size_t row);
};

static void rows_task(void *arg, size_t task, unsigned thread)
{
    const struct row_job *j = arg;
    size_t end = (task + 1) * j->rows_per_task < j->rows ? (task + 1) * j->rows_per_task : j->rows;
    for (size_t row = task * j->rows_per_task; row < end; row++)
        j->row(j, row);
}

static enum pk_code run_rows(struct pk_device *dev, const char *op, enum pk_dtype type, struct row_job j,
                             struct pk_err *err)
{
    if (pk_cpu_takes(op, type, PK_MATH_IEEE, err))
        return err->code;
    j.kernels = pk_kernels_of(pk_cpu_isa(dev));
    j.rows_per_task = j.cols < TASK_FLOATS ? TASK_FLOATS / j.cols : 1;
    pk_cpu_parallel_for(dev, rows_task, &j, (j.rows + j.rows_per_task - 1) / j.rows_per_task);
    return PK_OK;
}

struct scale_job {
    const struct pk_kernels *kernels;
    float alpha;
    const float *x;
    float *y;
    size_t n;
};

static void scale_task(void *arg, size_t task, unsigned thread)
{
    const struct scale_job *j = arg;
    size_t at = task * TASK_FLOATS, n = j->n - at < TASK_FLOATS ? j->n - at : TASK_FLOATS;
    j->kernels->scale(j->alpha, j->x + at, j->y + at, n);
}

enum pk_code pk_cpu_scale(struct pk_device *dev, enum pk_dtype type, float alpha, const void *x, void *y,
                          size_t n, struct pk_err *err)
{
    if (pk_cpu_takes("scale", type, PK_MATH_IEEE, err))
        return err->code;
    struct scale_job j = {pk_kernels_of(pk_cpu_isa(dev)), alpha, x, y, n};
    pk_cpu_parallel_for(dev, scale_task, &j, (n + TASK_FLOATS - 1) / TASK_FLOATS);
    return PK_OK;
}

static void mask_row(const struct row_job *j, size_t row)
{
    size_t visible = row % j->cols + 1, at = row * j->cols;
    memcpy(j->y + at, j->x + at, visible * sizeof *j->y);
    for (size_t i = visible; i < j->cols; i++)
        j->y[at + i] = -INFINITY;
}

enum pk_code pk_cpu_causal_mask(struct pk_device *dev, enum pk_dtype type, const void *x, void *y,
                                size_t batch, size_t seq, struct pk_err *err)
{
    return run_rows(dev, "causal_mask", type,
                    (struct row_job){.x = x, .y = y, .rows = batch * seq, .cols = seq, .row = mask_row}, err);
}

static void softmax_row(const struct row_job *j, size_t row)
{
    j->kernels->softmax(j->x + row * j->cols, j->y + row * j->cols, j->cols);
}

enum pk_code pk_cpu_softmax(struct pk_device *dev, enum pk_dtype type, const void *s, void *p, size_t rows,
                            size_t cols, struct pk_err *err)
{
    return run_rows(dev, "softmax", type,
                    (struct row_job){.x = s, .y = p, .rows = rows, .cols = cols, .row = softmax_row}, err);
}

static void softmax_backward_row(const struct row_job *j, size_t row)
{
    size_t at = row * j->cols;
    j->kernels->softmax_backward(j->x + at, j->dp + at, j->y + at, j->cols);
}

enum pk_code pk_cpu_softmax_backward(struct pk_device *dev, enum pk_dtype type, const void *p, const void *dp,
                                     void *ds, size_t rows, size_t cols, struct pk_err *err)
{
    return run_rows(
        dev, "softmax_backward", type,
        (struct row_job){.x = p, .dp = dp, .y = ds, .rows = rows, .cols = cols, .row = softmax_backward_row},
        err);
}
