/* Transformer: a decoder on an open device, one training step in parts.
 *
 *     pk_transformer_open, pk_transformer_fill, pk_transformer_batch
 *     pk_transformer_forward, [pk_transformer_backward, [pk_transformer_update]], pk_transformer_forget; again and again
 *     pk_transformer_close
 *
 * Gradients of several batches (accumulation): every backward but the first with `add`, then pk_transformer_scale once, then update.
 *
 * Everything from forward to forget runs on PK_LANE_COMPUTE, allocates only device memory from the pool, and may be timed or captured:
 * values that change from step to step (the optimizer's powers, the loss) are in device memory. Activations are freed as soon as they
 * are not needed any more. Tags say what live bytes are for. */
#pragma once

#include "model/transformer/config.h"
#include "ops/ops.h"

enum pk_needs { PK_NEEDS_WEIGHTS, PK_NEEDS_GRADIENTS, PK_NEEDS_OPTIMIZER };

/* What forward keeps of a block, in device memory; NULL = not kept. Shape [tokens, width] unless stated. */
struct pk_block_saved {
    void *s1, *n1;   /* input, and after its norm */
    float *rstd1;    /* [tokens] */
    void *q, *k, *v; /* [batch * heads, seq, width / heads], q and k with rotary positions */
    struct pk_attention_step attention;
    void *context; /* attention's result by tokens; not in the fused variant, which computes it again */
    void *s2, *n2; /* after the first residual sum, and after its norm */
    float *rstd2;
    void *gate, *up; /* [tokens, ff]; in the fused variant gate is [tokens, 2 ff] and up is NULL */
    void *act, *h;   /* silu(gate), and silu(gate) * up; not in the fused variant */
};

struct pk_head_saved {
    void *s, *n; /* before and after the last norm */
    float *rstd;
    void *logits; /* fused: already the gradient */
    float *logp;  /* [tokens, vocab] */
};

/* Called by backward for each gradient, in the order of completion: later work on PK_LANE_COMPUTE reads the complete gradient. Adjacent
 * parameters whose gradients are made by one product are reported in reverse order. An error ends the pass. */
struct pk_gradient_hook {
    enum pk_code (*ready)(void *user, size_t parameter, struct pk_err *err); /* NULL = not called */
    void *user;
};

/* Called by forward when the logits are there and the loss is computed next on PK_LANE_COMPUTE. */
struct pk_loss_hook {
    void (*begins)(void *user); /* NULL = not called */
    void *user;
};

/* Called by forward behind each block, in order: work that is enqueued on PK_LANE_COMPUTE from now on reads the block's hidden state, of
 * [tokens, width] in the model's type, which is x, or x + delta where delta is not NULL. They are valid until the call returns. An error
 * ends the pass. */
struct pk_block_hook {
    enum pk_code (*made)(void *user, size_t layer, const void *x, const void *delta,
                         struct pk_err *err); /* NULL = not called */
    void *user;
};

/* Callers may read all fields; only the functions below write them. While no pass runs the caller may set the hooks, `add`, `weight`,
 * tokens and targets (other device memory), and c.batch: up to that of open, for a batch with fewer sequences. */
struct pk_transformer {
    struct pk_transformer_config c;
    struct pk_layout layout;
    struct pk_device *dev;
    float *p;         /* master weights, [layout.elements] */
    uint16_t *narrow; /* for bf16: the weights that are used in products */
    float *g, *m, *v; /* gradients; moments */
    struct pk_adamw_state *adamw;
    float *rope_table;         /* from pk_rope_table */
    int32_t *tokens, *targets; /* [batch * seq] */
    float *losses, *loss;      /* of each token, and their mean */
    struct pk_block_saved *blocks;
    struct pk_head_saved head;
    enum pk_keep kept; /* of each block, by the last forward */
    struct pk_gradient_hook hook;
    struct pk_loss_hook loss_hook;
    struct pk_block_hook block_hook;
    bool add;     /* backward adds to t->g instead of overwriting it */
    float weight; /* of the batch in t->g, which has its gradient times this; 0 = 1 */
};

/* Host memory in `a`. *t is overwritten. After an error, too, call pk_transformer_close. */
enum pk_code pk_transformer_open(struct pk_transformer *t, struct pk_device *dev,
                                 const struct pk_transformer_config *c, enum pk_needs needs,
                                 struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
void pk_transformer_close(struct pk_transformer *t);

/* The origin of the initial weights. */
struct pk_origin {
    uint64_t seed;
    const struct pk_safetensors *file; /* an open file that fits (config.h); NULL = from the seed */
};

/* Sets everything but the batch to its initial contents. Weights come from a file, or are uniform with the variance of Glorot and Bengio
 * 2010, 2 / (rows + cols); embeddings with variance 1; norms 1. Equal on every device. Moments are 0, powers of beta 1. */
enum pk_code pk_transformer_fill(struct pk_transformer *t, const struct pk_origin *from,
                                 struct pk_err *err) PK_MUST_CHECK;
/* Makes again what follows from the shape alone: the table of rotary positions. rope_table: host memory for seq * width / heads floats, unchanged
 * until the compute lane has passed. Allocates nothing. */
enum pk_code pk_transformer_plan(struct pk_transformer *t, float *rope_table,
                                 struct pk_err *err) PK_MUST_CHECK;
/* Copies host arrays of batch * seq tokens; without a head targets may be NULL. PK_E_USAGE for a token outside the vocabulary. */
enum pk_code pk_transformer_batch(struct pk_transformer *t, const int32_t *tokens, const int32_t *targets,
                                  struct pk_err *err) PK_MUST_CHECK;

/* Writes the mean cross-entropy of the batch to t->loss, unless headless. keep: keeps what backward needs (less with c.recompute); else activations are
 * freed during the pass. */
enum pk_code pk_transformer_forward(struct pk_transformer *t, bool keep, struct pk_err *err) PK_MUST_CHECK;
/* Writes the gradients of the loss to t->g, or with t->add adds them to it; frees what forward kept. */
enum pk_code pk_transformer_backward(struct pk_transformer *t, struct pk_err *err) PK_MUST_CHECK;
/* t->g *= factor: after the gradients of N batches were added, 1 / N makes them those of the mean loss. */
enum pk_code pk_transformer_scale(struct pk_transformer *t, float factor, struct pk_err *err) PK_MUST_CHECK;
/* One step of AdamW. */
enum pk_code pk_transformer_update(struct pk_transformer *t, struct pk_err *err) PK_MUST_CHECK;
/* Frees what forward kept, unless backward did, and what a failed pass left. */
void pk_transformer_forget(struct pk_transformer *t);

/* Waits for the device. */
enum pk_code pk_transformer_loss(struct pk_transformer *t, float *loss, struct pk_err *err) PK_MUST_CHECK;
/* The same, with PK_E_CHECK for a loss that is not finite. */
enum pk_code pk_transformer_finite_loss(struct pk_transformer *t, float *loss,
                                        struct pk_err *err) PK_MUST_CHECK;
