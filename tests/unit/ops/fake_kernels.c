/* Fake kernels: those of rows and elements, as plain loops on the host. The real ones are checked in tests/cudashim; the linker
 * takes these because a program's own come before a library's. */
#include "ops/cuda/kernels.h"

#include <math.h>

static float get(enum pk_dtype type, const void *x, size_t i)
{
    return type == PK_BF16 ? pk_bf16_to_float(((const uint16_t *)x)[i]) : ((const float *)x)[i];
}

static void put(enum pk_dtype type, void *x, size_t i, double v)
{
    if (type == PK_BF16)
        ((uint16_t *)x)[i] = pk_bf16_of_float((float)v);
    else
        ((float *)x)[i] = (float)v;
}

int pk_k_softmax(pk_stream s, enum pk_dtype type, const void *x, void *y, size_t rows, size_t cols,
                 size_t causal_seq)
{
    for (size_t i = 0; i < rows; i++) {
        const size_t seen = causal_seq ? i % causal_seq + 1 : cols;
        double sum = 0, most = -INFINITY;
        for (size_t j = 0; j < seen; j++)
            most = fmax(most, get(type, x, i * cols + j));
        for (size_t j = 0; j < seen; j++)
            sum += exp(get(type, x, i * cols + j) - most);
        for (size_t j = 0; j < cols; j++)
            put(type, y, i * cols + j, j < seen ? exp(get(type, x, i * cols + j) - most) / sum : 0);
    }
    return 0;
}

int pk_k_softmax_backward(pk_stream s, enum pk_dtype type, const void *p, const void *dp, void *ds,
                          size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double dot = 0;
        for (size_t j = 0; j < cols; j++)
            dot += (double)get(type, p, i * cols + j) * (double)get(type, dp, i * cols + j);
        for (size_t j = 0; j < cols; j++)
            put(type, ds, i * cols + j, get(type, p, i * cols + j) * (get(type, dp, i * cols + j) - dot));
    }
    return 0;
}

int pk_k_scale(pk_stream s, enum pk_dtype type, float alpha, const void *x, void *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put(type, y, i, alpha * get(type, x, i));
    return 0;
}

int pk_k_narrow(pk_stream s, const float *x, uint16_t *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = pk_bf16_of_float(x[i]);
    return 0;
}

int pk_k_causal_mask(pk_stream s, enum pk_dtype type, const void *x, void *y, size_t batch, size_t seq)
{
    for (size_t i = 0; i < batch * seq; i++)
        for (size_t j = 0; j < seq; j++)
            put(type, y, i * seq + j, j > i % seq ? -INFINITY : get(type, x, i * seq + j));
    return 0;
}

/* The rest of elementwise.cu, which nobody calls. */
int pk_k_map(pk_stream s, enum pk_map map, enum pk_dtype type, const void *a, const void *b, void *y,
             size_t n)
{
    return 1;
}
