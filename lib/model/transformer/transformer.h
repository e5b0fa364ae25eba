/* Transformer: a decoder on an open device, one training step in parts.
 *
 *     pk_transformer_open, pk_transformer_fill, pk_transformer_batch
 *     pk_transformer_forward, [pk_transformer_backward, [pk_transformer_update]], pk_transformer_forget; again and again
 *     pk_transformer_close
 *
 * Everything between forward and forget runs on PK_LANE_COMPUTE, takes device memory from the pool and nothing else, and may be timed or
 * captured: what changes from step to step (the optimizer's powers, the loss) is in device memory. Activations are dropped as soon as nothing
 * to come reads them. Tags say what live bytes are for. */
#pragma once

#include "model/transformer/config.h"
#include "ops/ops.h"

enum pk_needs { PK_NEEDS_WEIGHTS, PK_NEEDS_GRADIENTS, PK_NEEDS_OPTIMIZER };

/* What forward keeps of a block: all of it device memory, NULL where it is not kept. [tokens, width] unless said. */
struct pk_block_saved {
    void *s1, *n1;   /* input, and normed */
    float *rstd1;    /* [tokens] */
    void *q, *k, *v; /* [batch * heads, seq, width / heads], q and k turned */
    struct pk_attention_step attention;
    void *context; /* attention's result by tokens; not in the fused variant, which makes it again */
    void *s2, *n2; /* after the first residual sum, and normed */
    float *rstd2;
    void *gate, *up; /* [tokens, ff]; of the fused variant gate is [tokens, 2 ff] and up NULL */
    void *act, *h;   /* silu(gate), and that times up; not in the fused variant */
};

struct pk_ends_saved {
    void *s, *n; /* before and after the last norm */
    float *rstd;
    void *logits; /* fused: the gradient already */
    float *logp;  /* [tokens, vocab] */
};

/* Told by backward, in its order, of every gradient that is complete: what reads it on PK_LANE_COMPUTE from then on finds it whole. Of
 * adjacent parameters whose gradients one product makes, the last comes first. An error ends the pass. */
struct pk_gradient_hook {
    enum pk_code (*ready)(void *user, size_t parameter, struct pk_err *err); /* NULL = nobody is told */
    void *user;
};

/* Read freely; written by the functions below. `hook` is the caller's, set whenever no pass runs. */
struct pk_transformer {
    struct pk_transformer_config c;
    struct pk_layout layout;
    struct pk_device *dev;
    float *p;         /* master weights, [layout.elements] */
    uint16_t *narrow; /* of bf16: the weights that are multiplied */
    float *g, *m, *v; /* gradients; moments */
    struct pk_adamw_state *adamw;
    float *turns;              /* of pk_rope_turns */
    int32_t *tokens, *targets; /* [batch * seq] */
    float *losses, *loss;      /* of each token, and their mean */
    struct pk_block_saved *blocks;
    struct pk_ends_saved ends;
    enum pk_keep kept; /* of each block, by the last forward */
    struct pk_gradient_hook hook;
};

/* The report's hyperparameters (AdamW's defaults as in PyTorch). */
extern const struct pk_adamw_state pk_adamw_defaults;

/* Host memory in `a`. After PK_E_OOM and other errors pk_transformer_close frees what was made. *t is overwritten. */
enum pk_code pk_transformer_open(struct pk_transformer *t, struct pk_device *dev,
                                 const struct pk_transformer_config *c, enum pk_needs needs,
                                 struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
void pk_transformer_close(struct pk_transformer *t);

/* Where first weights are from. */
struct pk_origin {
    uint64_t seed;
    const struct pk_safetensors *file; /* open, and fits (config.h); NULL = the seed's */
};

/* Everything but the batch gets its first contents. Weights are those of a file, or uniform with the variance of Glorot and Bengio 2010,
 * 2 / (rows + cols); embeddings with variance 1; norms 1. Equal on every device. Moments 0, powers of beta 1. */
enum pk_code pk_transformer_fill(struct pk_transformer *t, const struct pk_origin *from,
                                 struct pk_err *err) PK_MUST_CHECK;
/* Host arrays of batch * seq. PK_E_USAGE for a token outside of the vocabulary. */
enum pk_code pk_transformer_batch(struct pk_transformer *t, const int32_t *tokens, const int32_t *targets,
                                  struct pk_err *err) PK_MUST_CHECK;

/* Mean cross-entropy of the batch, to t->loss. keep: what backward needs is kept (c.recompute: less of it); else everything is dropped
 * on the way. */
enum pk_code pk_transformer_forward(struct pk_transformer *t, bool keep, struct pk_err *err) PK_MUST_CHECK;
/* Gradients of the loss to t->g, overwritten; drops what forward kept. */
enum pk_code pk_transformer_backward(struct pk_transformer *t, struct pk_err *err) PK_MUST_CHECK;
/* One step of AdamW. */
enum pk_code pk_transformer_update(struct pk_transformer *t, struct pk_err *err) PK_MUST_CHECK;
/* Drops what forward kept, if backward did not, and what a failed pass left. */
void pk_transformer_forget(struct pk_transformer *t);

/* Waits for the device. */
enum pk_code pk_transformer_loss(struct pk_transformer *t, float *loss, struct pk_err *err) PK_MUST_CHECK;
/* The same; a loss that is not finite is PK_E_CHECK. */
enum pk_code pk_transformer_finite_loss(struct pk_transformer *t, float *loss,
                                        struct pk_err *err) PK_MUST_CHECK;
