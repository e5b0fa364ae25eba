/* Forecast: predicts memory and work of a step by running it on the null device: the same code without arithmetic. */
#pragma once

#include "model/transformer/transformer.h"
#include "ops/ops.h"

/* How far an iteration goes. */
enum pk_step_mode { PK_STEP_FORWARD, PK_STEP_RETAINED, PK_STEP_BACKWARD, PK_STEP_WHOLE };

static inline enum pk_needs pk_step_needs(enum pk_step_mode m)
{
    return m == PK_STEP_WHOLE      ? PK_NEEDS_OPTIMIZER
           : m == PK_STEP_BACKWARD ? PK_NEEDS_GRADIENTS
                                   : PK_NEEDS_WEIGHTS;
}

struct pk_step_phase {
    struct pk_work work;
    size_t peak_bytes, after_bytes; /* live: highest while it ran, and when it was over */
};

struct pk_forecast {
    size_t state_bytes;                             /* weights, gradients, optimizer, inputs */
    struct pk_step_phase forward, backward, update; /* those the mode has not are 0 */
    size_t peak_bytes;
};

/* On a device of this kind, with the workspaces of its ops (ops/workspace.h): those of a CPU with so many threads (0 = as many as this
 * thread may run on), at the most; not that of cuDNN's plans. peak_bytes is INT64_MAX where it is more than addresses can say, and
 * then the work is not known (NAN). A shape that is not valid has a forecast of 0. */
void pk_transformer_forecast(const struct pk_transformer_config *c, enum pk_step_mode mode,
                             enum pk_device_kind kind, unsigned threads, struct pk_forecast *out);
