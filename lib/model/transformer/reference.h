/* Reference: a decoder's loss in float64, written as simply as possible, from weights at any location.
 *
 * What the first tokens of a sequence give depends on no later ones (the mask is causal): of a large model two tokens of one
 * sequence are a check that takes seconds. Weights are fetched one parameter at a time. */
#pragma once

#include "model/transformer/config.h"

/* `to` gets w's rows * cols weights. */
typedef enum pk_code pk_fetch_fn(void *user, const struct pk_parameter *w, float *to, struct pk_err *err);

/* One parameter changed, for differences: each of its weights by `by`, plus or minus as pk_nudge_sign says. */
struct pk_nudge {
    const struct pk_parameter *w; /* NULL = none */
    double by;
};
static inline double pk_nudge_sign(size_t i)
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
    struct pk_nudge nudge;
};

/* The first number on the way to losses that is beyond what fp32 has, and bf16 with its range; or that is none. */
struct pk_beyond {
    const struct pk_parameter *at; /* whose weights make it, or take it in; NULL = all are within */
    double value;
};

/* Cross-entropy of each of sequences * prefix tokens. Host memory of some parameters' size for the time of the call. */
enum pk_code pk_reference_losses(const struct pk_reference *r, double *losses, struct pk_beyond *beyond,
                                 struct pk_err *err) PK_MUST_CHECK;
/* Their mean. */
enum pk_code pk_reference_loss(const struct pk_reference *r, double *loss, struct pk_err *err) PK_MUST_CHECK;
