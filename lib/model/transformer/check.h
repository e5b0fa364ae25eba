/* Check: compares a model's loss and gradients on its device with the float64 reference, and the result of steps with repeated steps;
 * and makes a sketch of the gradients, for comparison between runs. */
#pragma once

#include "model/transformer/transformer.h"

/* Runs its own passes with the current weights and batch (tokens and targets are host copies of the batch); drops the activations that
 * forward kept; weights stay. full: the whole batch, and the gradient of every parameter along one direction, compared with the
 * difference of losses. Else: the losses of the first two tokens of the last sequence. Gradients are checked if t has them. PK_E_CHECK
 * names the largest difference. */
enum pk_code pk_transformer_check(struct pk_transformer *t, const int32_t *tokens, const int32_t *targets,
                                  bool full, struct pk_err *err) PK_MUST_CHECK;

/* Checks that the loss after all steps is finite and equals the loss after as many steps that are run one by one from the same initial
 * contents. PK_E_CHECK otherwise. Resets t to its initial contents. */
enum pk_code pk_transformer_check_steps(struct pk_transformer *t, const struct pk_origin *from,
                                        struct pk_err *err) PK_MUST_CHECK;

/* A pk_fetch_fn (reference.h) for an open transformer, which is `user`. */
enum pk_code pk_transformer_fetch(void *user, const struct pk_parameter *w, float *to,
                                  struct pk_err *err) PK_MUST_CHECK;

/* A sketch: a few hundred numbers from which the distance between two gradients of any size is estimated, so that both need not be in
 * one process or in memory at the same time.
 *
 * CountSketch (Charikar, Chen and Farach-Colton 2002): element i is added, with a sign, to one of PK_SKETCH numbers, both from a hash of
 * i. The sum of squared differences of two sketches estimates the squared distance of the arrays without bias, with a relative
 * standard deviation of at most sqrt(2 / PK_SKETCH), 9 %. */
enum { PK_SKETCH = 256 };

struct pk_sketch {
    double norm; /* exact */
    double v[PK_SKETCH];
};

/* The sketch of t->g. Uses temporary host memory of the largest parameter's size. PK_E_CHECK names the first parameter whose gradient is
 * not finite. */
enum pk_code pk_transformer_sketch(struct pk_transformer *t, struct pk_sketch *out,
                                   struct pk_err *err) PK_MUST_CHECK;
