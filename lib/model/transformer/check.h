/* Check: a model's loss and gradients on its device against the float64 reference, and what steps left against steps made again. */
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

/* Relative error allowed of a loss, and of a gradient along a direction in units of the gradient's own size. */
struct pk_transformer_tolerance {
    double loss, gradient;
};
struct pk_transformer_tolerance pk_transformer_tolerance(const struct pk_transformer_config *c);
