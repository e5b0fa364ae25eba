/* Loss: cross-entropy of rows of logits, in one step or in a framework's. */
#include "base/err.h"
#include "ops/cpu/cpu_ops.h"

static size_t target_of(const int32_t *targets, size_t row, size_t cols)
{
    pk_assert(targets[row] >= 0 && (size_t)targets[row] < cols);
    return (size_t)targets[row];
}

static void cross_entropy_row(const struct pk_cpu_pass *p, size_t row)
{
    const struct pk_cross_entropy *x = p->op;
    target_of(x->targets, row, x->cols);
    p->kernels->cross_entropy(x, row);
}

enum pk_code pk_cpu_cross_entropy(struct pk_device *dev, const struct pk_cross_entropy *x, struct pk_err *err)
{
    pk_cpu_each_row(dev, x, x->rows, x->cols, cross_entropy_row);
    return PK_OK;
}

static void log_softmax_row(const struct pk_cpu_pass *p, size_t row)
{
    p->kernels->log_softmax(p->op, row);
}

enum pk_code pk_cpu_log_softmax(struct pk_device *dev, const struct pk_log_softmax *x, struct pk_err *err)
{
    pk_cpu_each_row(dev, x, x->rows, x->cols, log_softmax_row);
    return PK_OK;
}

static void nll_row(const struct pk_cpu_pass *p, size_t row)
{
    const struct pk_nll *x = p->op;
    x->losses[row] = -x->logp[row * x->cols + target_of(x->targets, row, x->cols)];
}

enum pk_code pk_cpu_nll(struct pk_device *dev, const struct pk_nll *x, struct pk_err *err)
{
    pk_cpu_each_row(dev, x, x->rows, 1, nll_row);
    return PK_OK;
}

static void nll_backward_row(const struct pk_cpu_pass *p, size_t row)
{
    const struct pk_nll_backward *x = p->op;
    target_of(x->targets, row, x->cols);
    p->kernels->nll_backward(x, row);
}

enum pk_code pk_cpu_nll_backward(struct pk_device *dev, const struct pk_nll_backward *x, struct pk_err *err)
{
    pk_cpu_each_row(dev, x, x->rows, x->cols, nll_backward_row);
    return PK_OK;
}

/* One number a token: too few to divide. */
enum pk_code pk_cpu_mean(struct pk_device *dev, const float *x, size_t n, float *out, struct pk_err *err)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    *out = (float)(sum / (double)n);
    return PK_OK;
}
