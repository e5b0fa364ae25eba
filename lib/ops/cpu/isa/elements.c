/* Elements: elementwise passes over arrays. */
#include "ops/cpu/isa/element.h"
#include "ops/cpu/isa/table.h"

#include <stdbool.h>

/* sigmoid(x), and silu'(x) = sigmoid * (1 + x * (1 - sigmoid)), where 1 - sigmoid = e^-x * sigmoid: nothing cancels. */
struct slope {
    vf sigmoid, slope;
};

PK_INLINE struct slope silu_slope(vf x)
{
    const vf e = vexp_minus(x), sigmoid = vreciprocal(1.0f + e);
    return (struct slope){sigmoid, sigmoid * (1.0f + x * (e * sigmoid))};
}

struct arrays {
    const void *a, *b;
    void *y;
};

PK_INLINE void map_at(const enum pk_map map, const enum pk_dtype type, const struct arrays *v, size_t i,
                      const size_t lanes)
{
    const vf a = get(type, v->a, i, lanes), b = map == PK_MAP_SILU ? a : get(type, v->b, i, lanes);
    const vf y = map == PK_MAP_ADD    ? a + b
                 : map == PK_MAP_MUL  ? a * b
                 : map == PK_MAP_SILU ? a * vsigmoid(a)
                                      : b * silu_slope(a).slope;
    put(type, v->y, i, y, lanes);
}

PK_INLINE void map_of(const enum pk_map map, const enum pk_dtype type, const struct arrays *v, size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        map_at(map, type, v, i, VL);
    if (i < n)
        map_at(map, type, v, i, n - i);
}

PK_INLINE void map_stored(const enum pk_map map, enum pk_dtype type, const struct arrays *v, size_t n)
{
    if (type == PK_BF16)
        map_of(map, PK_BF16, v, n);
    else
        map_of(map, PK_FP32, v, n);
}

void PK_ISA(pk_map)(enum pk_map map, enum pk_dtype type, const void *a, const void *b, void *y, size_t n)
{
    const struct arrays v = {a, b, y};
    if (map == PK_MAP_ADD)
        map_stored(PK_MAP_ADD, type, &v, n);
    else if (map == PK_MAP_MUL)
        map_stored(PK_MAP_MUL, type, &v, n);
    else if (map == PK_MAP_SILU)
        map_stored(PK_MAP_SILU, type, &v, n);
    else
        map_stored(PK_MAP_SILU_BACKWARD, type, &v, n);
}

PK_INLINE void glu_at(const enum pk_dtype type, const struct pk_glu *g, size_t in, size_t out,
                      const size_t lanes)
{
    const vf gate = get(type, g->gate, in, lanes);
    put(type, g->y, out, gate * vsigmoid(gate) * get(type, g->up, in, lanes), lanes);
}

PK_INLINE void glu_of(const enum pk_dtype type, const struct pk_glu *g, size_t row)
{
    const size_t in = row * g->stride, out = row * g->cols;
    size_t i = 0;
    for (; i + VL <= g->cols; i += VL)
        glu_at(type, g, in + i, out + i, VL);
    if (i < g->cols)
        glu_at(type, g, in + i, out + i, g->cols - i);
}

void PK_ISA(pk_glu)(const struct pk_glu *g, size_t row)
{
    const struct pk_glu own = *g; /* which no store can change */
    if (g->dtype == PK_BF16)
        glu_of(PK_BF16, &own, row);
    else
        glu_of(PK_FP32, &own, row);
}

PK_INLINE void glu_backward_at(const enum pk_dtype type, const bool again, const struct pk_glu_backward *g,
                               size_t in, size_t out, const size_t lanes)
{
    const vf gate = get(type, g->gate, in, lanes), up = get(type, g->up, in, lanes),
             d_y = get(type, g->d_y, out, lanes);
    const struct slope s = silu_slope(gate);
    const vf silu = gate * s.sigmoid;
    put(type, g->d_gate, in, d_y * up * s.slope, lanes);
    put(type, g->d_up, in, d_y * silu, lanes);
    if (again)
        put(type, g->y, out, silu * up, lanes);
}

PK_INLINE void glu_backward_of(const enum pk_dtype type, const bool again, const struct pk_glu_backward *g,
                               size_t row)
{
    const size_t in = row * g->stride, out = row * g->cols;
    size_t i = 0;
    for (; i + VL <= g->cols; i += VL)
        glu_backward_at(type, again, g, in + i, out + i, VL);
    if (i < g->cols)
        glu_backward_at(type, again, g, in + i, out + i, g->cols - i);
}

void PK_ISA(pk_glu_backward)(const struct pk_glu_backward *g, size_t row)
{
    const struct pk_glu_backward own = *g; /* which no store can change */
    if (g->dtype == PK_BF16)
        glu_backward_of(PK_BF16, g->y, &own, row);
    else if (g->y)
        glu_backward_of(PK_FP32, true, &own, row);
    else
        glu_backward_of(PK_FP32, false, &own, row);
}

/* (c + is) (a + ib) for each pair; rotated back when `sign` is -1. */
PK_INLINE void rotate_at(const enum pk_dtype type, const void *x, void *y, const float *rope_table,
                         float sign, size_t i, const size_t lanes)
{
    const vf v = get(type, x, i, lanes), rotation = get(PK_FP32, rope_table, i, lanes),
             sine = vodd(rotation) * sign;
    put(type, y, i, v * veven(rotation) + vswap(v) * valternate(sine), lanes);
}

PK_INLINE void rotate_all(const enum pk_dtype type, const void *x, void *y, const float *rope_table,
                          float sign, size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        rotate_at(type, x, y, rope_table, sign, i, VL);
    if (i < n)
        rotate_at(type, x, y, rope_table, sign, i, n - i);
}

void PK_ISA(pk_rotate)(enum pk_dtype type, const void *x, void *y, const float *rope_table, float sign,
                       size_t n)
{
    if (type == PK_BF16)
        rotate_all(PK_BF16, x, y, rope_table, sign, n);
    else
        rotate_all(PK_FP32, x, y, rope_table, sign, n);
}
