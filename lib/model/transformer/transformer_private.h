/* Transformer, private: the operations of which the passes of a transformer consist, and the parts of a pass.
 *
 * The first operation that fails ends the pass: later ones do nothing, and rc and err contain its error. */
#pragma once

#include "model/transformer/transformer.h"

struct pk_model_pass {
    struct pk_transformer *t;
    struct pk_device *dev;
    struct pk_err *err;
    enum pk_code rc;
};

static inline struct pk_model_pass pk_pass_of(struct pk_transformer *t, struct pk_err *err)
{
    return (struct pk_model_pass){.t = t, .dev = t->dev, .err = err};
}

static inline size_t pk_pass_tokens(const struct pk_model_pass *p)
{
    return pk_transformer_tokens(&p->t->c);
}

/* Allocates n elements of the model's type; NULL when the pass has failed. */
void *pk_pass_take(struct pk_model_pass *p, size_t n);
float *pk_pass_take_fp32(struct pk_model_pass *p, size_t n);
/* Runs the next operation of the pass, a call that returns enum pk_code, unless the pass has failed. */
#define PK_PASS_RUN(p, call) ((p)->rc = (p)->rc ? (p)->rc : (call))
/* Frees the pointer variable x, also after a failure, and sets it to NULL. */
#define PK_PASS_DROP(p, x)   (pk_device_free((p)->dev, (x)), (x) = NULL)

/* The weights for products, from this offset of the layout on. */
static inline const void *pk_pass_weights(const struct pk_model_pass *p, size_t offset)
{
    return p->t->narrow ? (const void *)(p->t->narrow + offset) : p->t->p + offset;
}

/* x + n elements of the model's type; NULL for a buffer that is not there. */
static inline void *pk_pass_at(const struct pk_model_pass *p, void *x, size_t n)
{
    return x ? (char *)x + n * pk_dtype_bytes(p->t->c.dtype) : NULL;
}

/* A weight of [out, in], or several adjacent ones as one of more rows. */
struct pk_weight {
    size_t out, in, offset;
    const struct pk_parameter *first;
    size_t adjacent;
};
static inline struct pk_weight pk_weight_of(const struct pk_parameter *first, size_t adjacent)
{
    struct pk_weight w = {0, first->cols, first->offset, first, adjacent};
    for (size_t i = 0; i < adjacent; i++)
        w.out += first[i].rows;
    return w;
}
static inline struct pk_weight pk_pass_weight(const struct pk_model_pass *p, size_t layer,
                                              enum pk_block_parameter first, size_t adjacent)
{
    return pk_weight_of(pk_layout_block(&p->t->layout, layer, first), adjacent);
}

/* y = x W^T, allocated; dx = dy W, allocated; gradient of W = dy^T x. */
void *pk_pass_product(struct pk_model_pass *p, struct pk_weight w, const void *x);
void *pk_pass_product_back(struct pk_model_pass *p, struct pk_weight w, const void *dy);
void pk_pass_weight_gradient(struct pk_model_pass *p, struct pk_weight w, const void *dy, const void *x);

/* Calls the hook for the complete gradients of adjacent parameters. Called by the two functions that compute gradients of weights and
 * norms. */
void pk_pass_ready(struct pk_model_pass *p, const struct pk_parameter *first, size_t adjacent);

/* y = norm(x [+ delta, stored in place of delta]); y is allocated, and *rstd unless rstd is NULL. */
void *pk_pass_norm(struct pk_model_pass *p, const struct pk_parameter *w, const void *x, void *delta,
                   float **rstd);
/* Replaces *d by the gradient of s, given *d_y, which is freed. residual: *d is also added, as s has a path around the norm; else *d is
 * NULL before. */
void pk_pass_norm_back(struct pk_model_pass *p, const struct pk_parameter *w, const void *s,
                       const float *rstd, void **d_y, void **d, bool residual);

/* y of n elements, allocated; and y += x for n elements, in place. */
void *pk_pass_map(struct pk_model_pass *p, enum pk_map map, const void *a, const void *b, size_t n);
void pk_pass_add(struct pk_model_pass *p, void *y, const void *x, size_t n);

/* Rows to `parts` arrays of n heads (allocated), and heads to rows (allocated); the parts in the bit mask `rotated` are rotated by their
 * positions. */
void pk_pass_split(struct pk_model_pass *p, size_t n, void *rows, unsigned parts, unsigned rotated,
                   void *head[]);
void *pk_pass_merge(struct pk_model_pass *p, size_t n, void *const head[], unsigned parts, unsigned rotated);
/* The same for rows of q, k and v, where q and k are rotated; keys and values have as many heads as queries: those of kv_heads are
 * repeated, and added up on the way back. */
void pk_pass_split_qkv(struct pk_model_pass *p, void *rows, void *head[3]);
void *pk_pass_merge_qkv(struct pk_model_pass *p, void *const head[3]);
/* n heads rotated by their positions, or rotated back; allocated. */
void *pk_pass_rotate(struct pk_model_pass *p, size_t n, void *head, bool back);
/* Heads of keys or values repeated to as many as queries have, or those added up again; allocated. */
void *pk_pass_repeat(struct pk_model_pass *p, void *head, bool back);

/* --- the parts of a pass, a file each --- */

/* The data between blocks: x [+ delta, not yet added]. x_saved: the previous block keeps x. */
struct pk_stream {
    void *x, *delta;
    bool x_saved;
};

void pk_block_forward(struct pk_model_pass *p, size_t layer, struct pk_stream *s, enum pk_keep keep);
/* *d: gradient of the block's result before the call, of its input after it. */
void pk_block_backward(struct pk_model_pass *p, size_t layer, void **d);
void pk_block_drop(struct pk_model_pass *p, struct pk_block_saved *b); /* all of it */

void pk_embedding_forward(struct pk_model_pass *p, struct pk_stream *s);
void pk_head_loss(struct pk_model_pass *p, struct pk_stream *s, bool keep);
void pk_head_loss_backward(struct pk_model_pass *p, void **d);
void pk_embedding_backward(struct pk_model_pass *p, void **d);
void pk_head_drop(struct pk_model_pass *p);
