/* Config: the shape of a decoder transformer, and what follows from it without running anything.
 *
 * Pre-norm decoder: token embedding; layers of RMSNorm, attention with rotary positions and a causal mask, RMSNorm, SwiGLU; a last
 * RMSNorm; an untied head; no biases. Parameters: 2 vocab width + layers (4 width^2 + 3 width ff + 2 width) + width. */
#pragma once

#include "base/err.h"
#include "device/device.h"
#include "ops/attention.h"

#include <stdbool.h>

/* What is kept of a block's forward pass for its backward pass. */
enum pk_keep { PK_KEEP_NOTHING, PK_KEEP_INPUT, PK_KEEP_ALL };

struct pk_transformer_config {
    size_t layers, width, heads, ff, vocab, seq, batch;
    enum pk_dtype
        dtype; /* of weights as they are multiplied, and of activations; master weights, sums and the loss are fp32 */
    enum pk_math math; /* of fp32 products */
    enum pk_attention_variant attention;
    bool
        fused; /* few, wide operations: norm with the residual sum, q k v and gate up as one product each, one pass of SwiGLU,
                       cross-entropy and AdamW; else one per operation, as a framework launches them */
    bool recompute; /* of a block only its input is kept, and the rest made again in backward */
};

#define PK_NORM_EPS 1e-5f
enum {
    PK_WIDTH_STEP = 8, /* rows of products start where 16-byte loads may */
    PK_CONTEXT_MAX =
        1
        << 20 /* tokens of a sequence: rotary positions have no trained length, and float64 angles are right to fp32
                                this far */
};

/* PK_E_USAGE where the shape cannot be: heads that do not divide the width, heads of odd width, widths that are no multiple of
 * PK_WIDTH_STEP, a context longer than PK_CONTEXT_MAX. */
enum pk_code pk_transformer_valid(const struct pk_transformer_config *c, struct pk_err *err) PK_MUST_CHECK;

size_t pk_transformer_parameters(const struct pk_transformer_config *c);
static inline size_t pk_transformer_tokens(const struct pk_transformer_config *c)
{
    return c->batch * c->seq;
}

/* Of one block: every head a problem, causal, scale 1 / sqrt(features of a head). */
struct pk_attention_shape pk_transformer_attention(const struct pk_transformer_config *c);

/* FLOPs of one forward pass that count for model FLOPs utilisation (Chowdhery et al. 2022, appendix B): 2 for each weight of a product and
 * token, and 4 width for each pair of a token with one it may see (itself and those before it), per layer. Backward has twice as many.
 * Recomputation and what is not a product do not count. */
double pk_transformer_flops(const struct pk_transformer_config *c);
