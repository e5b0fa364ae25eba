/* Fake kernels: those that the fused variant launches, as plain loops on the host. The real ones are checked in tests/cudashim; the linker
 * takes these because a program's own come before a library's. */
#include "ops/cuda/kernels.h"

#include <math.h>

int pk_k_softmax(pk_stream s, const float *x, float *y, size_t rows, size_t cols, size_t causal_seq)
{
    for (size_t i = 0; i < rows; i++) {
        const size_t seen = causal_seq ? i % causal_seq + 1 : cols;
        double sum = 0, most = -INFINITY;
        for (size_t j = 0; j < seen; j++)
            most = fmax(most, x[i * cols + j]);
        for (size_t j = 0; j < seen; j++)
            sum += exp(x[i * cols + j] - most);
        for (size_t j = 0; j < cols; j++)
            y[i * cols + j] = j < seen ? (float)(exp(x[i * cols + j] - most) / sum) : 0;
    }
    return 0;
}

int pk_k_softmax_backward(pk_stream s, const float *p, const float *dp, float *ds, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double dot = 0;
        for (size_t j = 0; j < cols; j++)
            dot += (double)p[i * cols + j] * (double)dp[i * cols + j];
        for (size_t j = 0; j < cols; j++)
            ds[i * cols + j] = (float)(p[i * cols + j] * (dp[i * cols + j] - dot));
    }
    return 0;
}

int pk_k_scale(pk_stream s, float alpha, const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = alpha * x[i];
    return 0;
}

int pk_k_causal_mask(pk_stream s, const float *x, float *y, size_t batch, size_t seq)
{
    for (size_t i = 0; i < batch * seq; i++)
        for (size_t j = 0; j < seq; j++)
            y[i * seq + j] = j > i % seq ? -INFINITY : x[i * seq + j];
    return 0;
}
