/* Averaging parts: what the files of averaging share. Private to lib/model. */
#pragma once

#include "model/averaging.h"

/* Element i of gradient t on a rank: whole numbers, small enough that sums over a few ranks are exact in fp32. */
static inline float pk_averaging_value(size_t t, size_t i, double rank)
{
    enum { PERIOD = 61 };
    return (float)((double)((t + i) % PERIOD) + rank);
}

static inline bool pk_averaging_overlaps(enum pk_averaging_way way)
{
    return way == PK_AVERAGE_OVERLAP || way == PK_AVERAGE_BUCKET;
}

/* The training's hook; `user` is the struct pk_averaging. */
enum pk_code pk_averaging_made(void *user, size_t parameter, struct pk_err *err);

/* The address of gradient t in the contiguous array. */
static inline char *pk_averaging_slot(const struct pk_averaging *v, size_t t)
{
    return v->flat + v->before[t] * pk_dtype_bytes(v->o.type);
}

/* The address of gradient t of a training, in fp32: the order of readiness is the reverse of the layout's order. */
static inline float *pk_averaging_source(const struct pk_averaging *v, size_t t)
{
    const struct pk_transformer *x = &v->o.training->t;
    return x->g + x->layout.v[x->layout.n - 1 - t].offset;
}

/* Fills the gradients of a timer. */
enum pk_code pk_averaging_fill(struct pk_averaging *v, struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
