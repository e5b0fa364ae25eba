/* Config: the shape of a decoder transformer, with its parameters, their layout in one flat array, and the check of a weights file.
 *
 * Pre-norm decoder: token embedding; layers of RMSNorm, attention with rotary positions and a causal mask, RMSNorm, SwiGLU; a last
 * RMSNorm; an untied head; no biases. Parameters: 2 vocab width + layers (2 width^2 + 2 width kv + 3 width ff + 2 width) + width, where kv
 * is the width of keys and of values: width, or less with kv_heads < heads. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "device/device.h"
#include "model/safetensors.h"
#include "ops/attention.h"

#include <stdbool.h>

/* What a block's forward pass keeps for its backward pass. */
enum pk_keep { PK_KEEP_NOTHING, PK_KEEP_INPUT, PK_KEEP_ALL };

struct pk_transformer_config {
    size_t layers, width, heads, ff, vocab, seq, batch;
    size_t kv_heads; /* of keys and values, each for heads / kv_heads adjacent heads of queries; 0 = heads */
    enum pk_dtype
        dtype; /* of weights in products and of activations; master weights, sums and the loss are fp32 */
    enum pk_math math; /* of fp32 products */
    enum pk_attention_variant attention;
    /* fused: few large operations: norm with the residual sum, q k v and gate up as one product each, one pass for SwiGLU, cross-entropy
     * and AdamW; else one kernel per operation, as a framework launches them. recompute: only the input of a block is kept; backward
     * computes the rest again. */
    bool fused, recompute;
    /* without the last norm, the head and the loss: forward ends with the last block's hidden state, and there is no backward */
    bool headless;
};

#define PK_NORM_EPS 1e-5f
enum {
    PK_WIDTH_STEP = 8, /* rows of products are aligned for 16-byte loads */
    PK_CONTEXT_MAX =
        1 << 20 /* tokens of a sequence: up to here float64 angles of rotary positions are exact to fp32 */
};

/* PK_E_USAGE for an invalid shape: width not a multiple of heads, heads not one of kv_heads, heads of odd width, widths that are not multiples of PK_WIDTH_STEP, a
 * context longer than PK_CONTEXT_MAX. */
enum pk_code pk_transformer_valid(const struct pk_transformer_config *c, struct pk_err *err) PK_MUST_CHECK;

size_t pk_transformer_parameters(const struct pk_transformer_config *c);
static inline size_t pk_transformer_kv_heads(const struct pk_transformer_config *c)
{
    return c->kv_heads ? c->kv_heads : c->heads;
}
static inline size_t pk_transformer_kv_width(const struct pk_transformer_config *c)
{
    return c->width / c->heads * pk_transformer_kv_heads(c);
}
static inline size_t pk_transformer_tokens(const struct pk_transformer_config *c)
{
    return c->batch * c->seq;
}

/* The attention of one block: a problem per head of queries, causal, scale 1 / sqrt(features of a head). */
struct pk_attention_shape pk_transformer_attention(const struct pk_transformer_config *c);

/* FLOPs of one forward pass that count for model FLOPs utilisation (Chowdhery et al. 2022, appendix B): 2 for each weight of a product
 * and token, and 4 width for each pair of a token with a visible token (itself and earlier ones), per layer. Backward has twice as many.
 * Recomputation and other operations do not count. */
double pk_transformer_flops(const struct pk_transformer_config *c);

/* --- layout: where each parameter lies in one flat array --- */

/* Order and names are those of the report's model. Groups that a fused product multiplies at once are adjacent: q, k, v; and gate, up. A
 * group starts at a multiple of PK_LAYOUT_STEP elements; the padding is and stays 0. Arrays of gradients and of the optimizer have the
 * same layout. */
enum { PK_LAYOUT_STEP = 64 };

struct pk_parameter {
    const char *name;  /* "layers.3.attn.q_proj.weight" */
    size_t rows, cols; /* [rows, cols]; a norm has shape [cols] and rows = 1 */
    size_t offset;     /* in elements */
};

/* Parameters of one block, in order. */
enum pk_block_parameter {
    PK_NORM1,
    PK_Q,
    PK_K,
    PK_V,
    PK_O,
    PK_NORM2,
    PK_GATE,
    PK_UP,
    PK_DOWN,
    PK_BLOCK_PARAMETERS
};

struct pk_layout {
    const struct pk_parameter *v; /* embedding; block after block; last norm and head, unless headless */
    size_t n;
    size_t elements; /* of the flat array */
};

/* In `a`. */
void pk_layout_make(struct pk_layout *l, const struct pk_transformer_config *c, struct pk_arena *a);

static inline const struct pk_parameter *pk_layout_embedding(const struct pk_layout *l)
{
    return &l->v[0];
}
static inline const struct pk_parameter *pk_layout_block(const struct pk_layout *l, size_t layer,
                                                         enum pk_block_parameter p)
{
    return &l->v[1 + layer * PK_BLOCK_PARAMETERS + p];
}
static inline const struct pk_parameter *pk_layout_last_norm(const struct pk_layout *l)
{
    return &l->v[l->n - 2];
}
static inline const struct pk_parameter *pk_layout_head(const struct pk_layout *l)
{
    return &l->v[l->n - 1];
}

/* Checks that a safetensors file has exactly the parameters of c, by name and shape ([cols] for a norm), in fp32, bf16 or fp16; master
 * weights are always fp32. PK_E_USAGE names the first tensor that is missing, unexpected, or of another shape or type, and as a fix the
 * model sizes that the file's shapes imply, or another action when those are c's. */
enum pk_code pk_transformer_weights_fit(const struct pk_safetensors *f, const struct pk_transformer_config *c,
                                        struct pk_err *err) PK_MUST_CHECK;
