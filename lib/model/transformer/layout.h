/* Layout: where each parameter of a transformer lies in one flat array.
 *
 * Order and names are those of the report's model. Groups that a fused product multiplies at once are adjacent: q, k, v; and gate, up.
 * A group starts at a multiple of PK_LAYOUT_STEP elements; what lies between is 0 and stays 0. Arrays of gradients and of the optimizer
 * have the same layout. */
#pragma once

#include "base/arena.h"
#include "model/transformer/config.h"

enum { PK_LAYOUT_STEP = 64 };

struct pk_parameter {
    const char *name;  /* "layers.3.attn.q_proj.weight" */
    size_t rows, cols; /* [rows, cols]; of a norm [cols], and rows is 1 */
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
    const struct pk_parameter *v; /* embedding; block after block; last norm; head */
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
