/* Rows: elementwise passes and softmax over one row. */
#include "ops/cpu/isa/table.h"
#include "ops/cpu/isa/vec.h"

enum { WAYS = 4 }; /* independent sums, to hide the latency of an addition */

void PK_ISA(pk_scale)(float alpha, const float *x, float *y, size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        vstore(y + i, vload(x + i) * alpha);
    for (; i < n; i++)
        y[i] = x[i] * alpha;
}

void PK_ISA(pk_add)(const float *x, float *y, size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        vstore(y + i, vload(x + i) + vload(y + i));
    for (; i < n; i++)
        y[i] += x[i];
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

static __attribute__((noinline)) float row_top(const float *s, size_t n)
{
    vf top[WAYS];
    for (int w = 0; w < WAYS; w++)
        top[w] = vset(-INFINITY);
    size_t i = 0;
    for (; i + WAYS * VL <= n; i += WAYS * VL)
        for (int w = 0; w < WAYS; w++)
            top[w] = vmax(top[w], vload(s + i + (size_t)w * VL));
    for (; i < n; i += VL)
        top[0] = vmax(top[0], n - i >= VL ? vload(s + i) : vload_part(s + i, n - i, -INFINITY));
    return vtop(vmax(vmax(top[0], top[1]), vmax(top[2], top[3])));
}

/* p = e^(s - top), and its sum. */
static __attribute__((noinline)) float row_exp(const float *s, float *p, size_t n, float top)
{
    vf sum[WAYS] = {0};
    size_t i = 0;
    for (; i + WAYS * VL <= n; i += WAYS * VL)
        for (int w = 0; w < WAYS; w++) {
            vf e = vexp(vload(s + i + (size_t)w * VL) - top);
            vstore(p + i + (size_t)w * VL, e);
            sum[w] += e;
        }
    for (; i + VL <= n; i += VL) {
        vf e = vexp(vload(s + i) - top);
        vstore(p + i, e);
        sum[0] += e;
    }
    if (i < n) {
        vf e = vexp(vload_part(s + i, n - i, -INFINITY) - top);
        vstore_part(p + i, e, n - i);
        sum[1] += e;
    }
    return vsum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

void PK_ISA(pk_softmax)(const float *s, float *p, size_t n)
{
    float sum = row_exp(s, p, n, row_top(s, n));
    PK_ISA(pk_scale)(1.0f / sum, p, p, n);
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

void PK_ISA(pk_softmax_backward_known)(const float *p, const float *dp, float delta, float *ds, size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        vstore(ds + i, vload(p + i) * (vload(dp + i) - delta));
    for (; i < n; i++)
        ds[i] = p[i] * (dp[i] - delta);
}

void PK_ISA(pk_softmax_backward)(const float *p, const float *dp, float *ds, size_t n)
{
    PK_ISA(pk_softmax_backward_known)(p, dp, PK_ISA(pk_dot)(p, dp, n), ds, n);
}
