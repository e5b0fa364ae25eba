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
    size_t peak_bytes, after_bytes; /* live bytes: highest during the phase, and after it */
};

struct pk_forecast {
    size_t state_bytes;                             /* weights, gradients, optimizer, inputs */
    struct pk_step_phase forward, backward, update; /* phases that the mode does not have are 0 */
    struct pk_work loss;                            /* of forward: what follows the logits */
    size_t peak_bytes;
};

/* For a device of this kind, with the workspaces of its ops (ops/workspace.h): for a CPU with this number of threads (0 = the CPUs on
 * which this thread may run) an upper bound; without the workspace of cuDNN's plans. peak_bytes is PK_BYTES_BEYOND when it exceeds the
 * address space; the work is then unknown (NAN). An invalid shape has a forecast of 0. */
void pk_transformer_forecast(const struct pk_transformer_config *c, enum pk_step_mode mode,
                             enum pk_device_kind kind, unsigned threads, struct pk_forecast *out);
