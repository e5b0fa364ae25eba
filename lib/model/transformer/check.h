/* Check: a model's loss and gradients on its device against the float64 reference, and what steps left against steps made again;
 * and a sketch of the gradients, by which those of other runs are compared. */
#pragma once

#include "model/transformer/transformer.h"

/* Runs passes of its own on the weights and the batch that are there (host copies of the batch are given); what forward kept is dropped,
 * weights stay. full: the whole batch, and the gradient of every parameter along one direction against the difference of losses there. Else: the losses of the
 * first two tokens of the last sequence. Gradients are checked where t has some. PK_E_CHECK names the worst. */
enum pk_code pk_transformer_check(struct pk_transformer *t, const int32_t *tokens, const int32_t *targets,
                                  bool full, struct pk_err *err) PK_MUST_CHECK;

/* The loss that steps have left, however they were run, is the one that as many steps from the same first contents give when they are
 * made one by one; and it is finite. t has its first contents afterwards. PK_E_CHECK otherwise. */
enum pk_code pk_transformer_check_steps(struct pk_transformer *t, const struct pk_origin *from,
                                        struct pk_err *err) PK_MUST_CHECK;

/* A sketch: a few hundred numbers from which the distance of two gradients of any size is estimated, so that they need not lie in
 * one process, or in memory at once.
 *
 * CountSketch (Charikar, Chen and Farach-Colton 2002): element i is added, with a sign, to one of PK_SKETCH numbers, both from a hash of
 * i. The sum of squared differences of two sketches estimates the squared distance of the arrays without bias, with a relative
 * standard deviation of at most sqrt(2 / PK_SKETCH), 9 %. */
enum { PK_SKETCH = 256 };

struct pk_sketch {
    double norm; /* exact */
    double v[PK_SKETCH];
};

/* Of t->g; host memory of the largest parameter's size for the time of the call. PK_E_CHECK names the first parameter whose gradient is not
 * finite. */
enum pk_code pk_transformer_sketch(struct pk_transformer *t, struct pk_sketch *out,
                                   struct pk_err *err) PK_MUST_CHECK;
