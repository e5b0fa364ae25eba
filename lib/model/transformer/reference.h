/* Reference: a decoder's loss in float64, written as simply as possible.
 *
 * The mask is causal, so the first tokens of a sequence do not depend on later ones: with two tokens of one sequence, the check of a
 * large model takes seconds. Weights are fetched one parameter at a time, from any location. */
#pragma once

#include "model/transformer/config.h"

/* Copies the rows * cols weights of w to `to`. */
typedef enum pk_code pk_fetch_fn(void *user, const struct pk_parameter *w, float *to, struct pk_err *err);

/* A change of one parameter, for numerical differences: each weight changes by `by`, with the sign pk_difference_sign. */
struct pk_difference_step {
    const struct pk_parameter *w; /* NULL = none */
    double by;
};
static inline double pk_difference_sign(size_t i)
{
    return (i * UINT64_C(0x9E3779B97F4A7C15)) >> 63 ? 1 : -1;
}

struct pk_reference {
    const struct pk_transformer_config *c;
    const struct pk_layout *l;
    pk_fetch_fn *fetch;
    void *user;
    const int32_t *tokens, *targets; /* [sequences, c->seq] */
    size_t sequences, prefix;        /* the first `prefix` tokens of each */
    struct pk_difference_step step;
};

/* The first intermediate number that is NaN or outside the range of fp32 (which is also that of bf16). */
struct pk_range_error {
    const struct pk_parameter
        *at; /* the parameter that produces or reads the number; NULL = all are in range */
    double value;
};

/* Hidden states behind the first `layers` blocks, [sequences * prefix, width]. */
enum pk_code pk_reference_hidden(const struct pk_reference *r, size_t layers, double *hidden,
                                 struct pk_range_error *range_error, struct pk_err *err) PK_MUST_CHECK;
/* Cross-entropy of each of sequences * prefix tokens. Uses temporary host memory of the size of a few parameters. */
enum pk_code pk_reference_losses(const struct pk_reference *r, double *losses,
                                 struct pk_range_error *range_error, struct pk_err *err) PK_MUST_CHECK;
/* Their mean. */
enum pk_code pk_reference_loss(const struct pk_reference *r, double *loss, struct pk_err *err) PK_MUST_CHECK;
