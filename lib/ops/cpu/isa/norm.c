/* Norm: root mean square norm of rows, and its backward. */
#include "ops/cpu/isa/element.h"
#include "ops/cpu/isa/table.h"

#include <stdbool.h>

enum { WAYS = 4 }; /* independent sums, to hide the latency of an addition */

/* s = x + delta, stored; its squares. */
PK_INLINE vf squares_at(const enum pk_dtype type, const bool added, const struct pk_norm *n, size_t i,
                        const size_t lanes)
{
    vf s = get(type, n->x, i, lanes);
    if (added) {
        s = as_stored(type, s + get(type, n->delta, i, lanes));
        put(type, n->sum, i, s, lanes);
    }
    return s * s;
}

PK_INLINE float squares(const enum pk_dtype type, const bool added, const struct pk_norm *n, size_t row)
{
    const size_t cols = n->cols, at = row * cols;
    vf sum[WAYS] = {0};
    size_t i = 0;
    for (; i + WAYS * VL <= cols; i += WAYS * VL)
        for (size_t w = 0; w < WAYS; w++)
            sum[w] += squares_at(type, added, n, at + i + w * VL, VL);
    for (; i + VL <= cols; i += VL)
        sum[0] += squares_at(type, added, n, at + i, VL);
    if (i < cols)
        sum[1] += squares_at(type, added, n, at + i, cols - i);
    return vsum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

PK_INLINE void norm_of(const enum pk_dtype type, const bool added, const struct pk_norm *n, size_t row)
{
    const size_t cols = n->cols, at = row * cols;
    const void *s = added ? n->sum : n->x;
    const float rstd = 1.0f / sqrtf(squares(type, added, n, row) / (float)cols + n->eps);
    size_t i = 0;
    for (; i + VL <= cols; i += VL)
        put(type, n->y, at + i, get(type, s, at + i, VL) * rstd * vload(n->w + i), VL);
    if (i < cols)
        put(type, n->y, at + i, get(type, s, at + i, cols - i) * rstd * get(PK_FP32, n->w, i, cols - i),
            cols - i);
    if (n->rstd)
        n->rstd[row] = rstd;
}

void PK_ISA(pk_norm)(const struct pk_norm *n, size_t row)
{
    const struct pk_norm own = *n; /* which no store can change */
    if (n->dtype == PK_BF16)
        n->delta ? norm_of(PK_BF16, true, &own, row) : norm_of(PK_BF16, false, &own, row);
    else
        n->delta ? norm_of(PK_FP32, true, &own, row) : norm_of(PK_FP32, false, &own, row);
}

/* d_w += d_y * normed; d_y * w * normed is returned. */
PK_INLINE vf gradient_at(const enum pk_dtype type, const struct pk_norm_backward *n, size_t at, size_t i,
                         float rstd, float *d_w, const size_t lanes)
{
    const vf t = get(type, n->d_y, at + i, lanes) * (get(type, n->s, at + i, lanes) * rstd);
    put(PK_FP32, d_w, i, get(PK_FP32, d_w, i, lanes) + t, lanes);
    return t * get(PK_FP32, n->w, i, lanes);
}

PK_INLINE float gradient(const enum pk_dtype type, const struct pk_norm_backward *n, size_t row, float *d_w)
{
    const size_t cols = n->cols, at = row * cols;
    const float rstd = n->rstd[row];
    vf sum[WAYS] = {0};
    size_t i = 0;
    for (; i + WAYS * VL <= cols; i += WAYS * VL)
        for (size_t w = 0; w < WAYS; w++)
            sum[w] += gradient_at(type, n, at, i + w * VL, rstd, d_w, VL);
    for (; i + VL <= cols; i += VL)
        sum[0] += gradient_at(type, n, at, i, rstd, d_w, VL);
    if (i < cols)
        sum[1] += gradient_at(type, n, at, i, rstd, d_w, cols - i);
    return vsum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

PK_INLINE void d_x_at(const enum pk_dtype type, const bool added, const struct pk_norm_backward *n, size_t at,
                      size_t i, float rstd, float pull, const size_t lanes)
{
    vf d_x = get(type, n->d_y, at + i, lanes) * get(PK_FP32, n->w, i, lanes) * rstd -
             get(type, n->s, at + i, lanes) * pull;
    if (added)
        d_x += get(type, n->d_s, at + i, lanes);
    put(type, n->d_x, at + i, d_x, lanes);
}

PK_INLINE void norm_backward_of(const enum pk_dtype type, const bool added, const struct pk_norm_backward *n,
                                size_t row, float *d_w)
{
    const size_t cols = n->cols, at = row * cols;
    const float rstd = n->rstd[row], mean = gradient(type, n, row, d_w) / (float)cols;
    const float pull = rstd * rstd * mean; /* n = s * rstd */
    size_t i = 0;
    for (; i + VL <= cols; i += VL)
        d_x_at(type, added, n, at, i, rstd, pull, VL);
    if (i < cols)
        d_x_at(type, added, n, at, i, rstd, pull, cols - i);
}

void PK_ISA(pk_norm_backward)(const struct pk_norm_backward *n, size_t row, float *d_w)
{
    const struct pk_norm_backward own = *n; /* which no store can change */
    if (n->dtype == PK_BF16)
        n->d_s ? norm_backward_of(PK_BF16, true, &own, row, d_w)
               : norm_backward_of(PK_BF16, false, &own, row, d_w);
    else
        n->d_s ? norm_backward_of(PK_FP32, true, &own, row, d_w)
               : norm_backward_of(PK_FP32, false, &own, row, d_w);
}
