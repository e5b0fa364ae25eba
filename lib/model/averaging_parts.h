/* Averaging parts: what gradients hold before and after. Inside lib/model only. */
#pragma once

#include "model/averaging.h"

/* Element i of gradient t on a rank: whole numbers, small enough that sums over a few ranks are exact in fp32. */
static inline float pk_averaging_value(size_t t, size_t i, double rank)
{
    enum { PERIOD = 61 };
    return (float)((double)((t + i) % PERIOD) + rank);
}

enum pk_code pk_averaging_fill(struct pk_averaging *v, struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
