/* Training: a transformer with the batch of one rank; its gradients are averaged.
 *
 * Weights are equal on all ranks; the batch is the rank's own, and any rank's can be put in its place, so that one process can say what
 * all of them have on average. */
#pragma once

#include "model/transformer/transformer.h"

struct pk_training {
    struct pk_transformer t;
    uint64_t seed;
    int32_t *tokens, *targets; /* host; NULL on a device that computes nothing */
};

/* With gradients, and the batch of that rank. Host memory in the arena. dry: the device computes nothing and is given nothing. Equal
 * seeds give equal numbers. On failure too, pk_transformer_close of t. */
enum pk_code pk_training_open(struct pk_training *v, struct pk_device *dev,
                              const struct pk_transformer_config *c, uint64_t seed, unsigned rank, bool dry,
                              struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;

/* The batch of that rank from now on. Waits for the device. */
enum pk_code pk_training_batch(struct pk_training *v, unsigned rank, struct pk_err *err) PK_MUST_CHECK;

/* Forward and backward, nobody being told of gradients; they are in v->t.g. */
enum pk_code pk_training_gradients(struct pk_training *v, struct pk_err *err) PK_MUST_CHECK;
