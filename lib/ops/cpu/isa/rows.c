/* Rows: simple passes over one row. */
#include "ops/cpu/isa/element.h"
#include "ops/cpu/isa/table.h"

enum { WAYS = 4 }; /* independent sums, to hide the latency of an addition */

PK_INLINE void scale_of(const enum pk_dtype type, float alpha, const void *x, void *y, size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        put(type, y, i, get(type, x, i, VL) * alpha, VL);
    if (i < n)
        put(type, y, i, get(type, x, i, n - i) * alpha, n - i);
}

void PK_ISA(pk_scale)(enum pk_dtype type, float alpha, const void *x, void *y, size_t n)
{
    if (type == PK_BF16)
        scale_of(PK_BF16, alpha, x, y, n);
    else
        scale_of(PK_FP32, alpha, x, y, n);
}

PK_INLINE void add_of(const enum pk_dtype type, const void *x, float *y, size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        put(PK_FP32, y, i, get(PK_FP32, y, i, VL) + get(type, x, i, VL), VL);
    if (i < n)
        put(PK_FP32, y, i, get(PK_FP32, y, i, n - i) + get(type, x, i, n - i), n - i);
}

void PK_ISA(pk_add)(enum pk_dtype type, const void *x, float *y, size_t n)
{
    if (type == PK_BF16)
        add_of(PK_BF16, x, y, n);
    else
        add_of(PK_FP32, x, y, n);
}

void PK_ISA(pk_widen)(const uint16_t *x, float *y, size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        vstore(y + i, get(PK_BF16, x, i, VL));
    if (i < n)
        vstore_part(y + i, get(PK_BF16, x, i, n - i), n - i);
}

void PK_ISA(pk_narrow)(const float *x, uint16_t *y, size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        put(PK_BF16, y, i, vload(x + i), VL);
    if (i < n)
        put(PK_BF16, y, i, vload_part(x + i, n - i, 0), n - i);
}

void PK_ISA(pk_triad)(const float *x, const float *y, float *z, size_t n)
{
    for (size_t i = 0; i + VL <= n; i += VL)
        vstore(z + i, vload(x + i) + vload(y + i) * 3.0f);
}

void PK_ISA(pk_exp)(const float *x, float *y, size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        vstore(y + i, vexp(vload(x + i)));
    if (i < n)
        vstore_part(y + i, vexp(vload_part(x + i, n - i, 0)), n - i);
}

float PK_ISA(pk_dot)(const float *a, const float *b, size_t n)
{
    vf sum[WAYS] = {0};
    size_t i = 0;
    for (; i + WAYS * VL <= n; i += WAYS * VL)
        for (int w = 0; w < WAYS; w++)
            sum[w] += vload(a + i + (size_t)w * VL) * vload(b + i + (size_t)w * VL);
    for (; i + VL <= n; i += VL)
        sum[0] += vload(a + i) * vload(b + i);
    float tail = 0;
    for (; i < n; i++)
        tail += a[i] * b[i];
    return vsum((sum[0] + sum[1]) + (sum[2] + sum[3])) + tail;
}
