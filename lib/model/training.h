/* Training: a transformer with the batch of one rank; its gradients are averaged.
 *
 * Weights are equal on all ranks; each rank has its own batch. The batch of any other rank can be loaded, so that one process can
 * compute the average over all ranks. */
#pragma once

#include "model/transformer/transformer.h"

struct pk_training {
    struct pk_transformer t;
    uint64_t seed;
    int32_t *tokens, *targets; /* host; NULL on a device that computes nothing */
};

/* With gradients and the batch of that rank. Host memory in the arena. dry: the device computes nothing, and nothing is copied to it.
 * Equal seeds give equal numbers. Call pk_transformer_close(&v->t) at the end, also after a failure. */
enum pk_code pk_training_open(struct pk_training *v, struct pk_device *dev,
                              const struct pk_transformer_config *c, uint64_t seed, unsigned rank, bool dry,
                              struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;

/* Loads the batch of that rank. Waits for the device. */
enum pk_code pk_training_batch(struct pk_training *v, unsigned rank, struct pk_err *err) PK_MUST_CHECK;

/* Forward and backward without the hook; the gradients are in v->t.g. */
enum pk_code pk_training_gradients(struct pk_training *v, struct pk_err *err) PK_MUST_CHECK;
