/* Weights: a tree's parameters as real fp32 arrays on a device, whole or divided among tp devices.
 *
 * Row-major. Element (r, c) of leaf i has the value of pk_op_fill at (seed + i, r * columns + c) of the whole array, so that a piece
 * can be checked without the whole. The local piece is always rank 0's: of a leaf that is divided along dim 0 the first out/tp rows,
 * contiguous; along dim 1, which is for two dimensions only, the first in/tp elements of every row, strided.
 * All leaves of one pk_weights live in one block of device memory, each 256-byte aligned. */
#pragma once

#include "device/lane.h"
#include "model/tree/tree.h"
#include "ops/ops.h"

enum pk_weights_part {
    PK_WEIGHTS_LOCAL, /* every leaf, at its local size: with nothing divided that is the whole model */
    PK_WEIGHTS_DIVIDED /* only leaves that are divided: what slicing makes; the others are shared with the whole model */
};

struct pk_weights {
    size_t n_leaves;
    float **leaf;         /* [n_leaves] into block; NULL for a leaf that is not in the part */
    struct pk_fill *fill; /* [n_leaves] what each holds; rows = 0 when not in the part */
    unsigned char *block; /* device memory, tag PK_TAG_PARAMETERS */
    int64_t bytes;
};

/* A part of this tree, before anything is allocated. tp divides every dimension that is divided. */
struct pk_weights_size {
    int64_t bytes, elements; /* of device memory, with what alignment adds; the numbers in it */
    size_t leaves;
};
struct pk_weights_size pk_weights_size(const struct pk_tree *t, int64_t tp, enum pk_weights_part part);
/* Tables in the arena, the block from the pool: PK_E_OOM. */
enum pk_code pk_weights_new(struct pk_device *dev, const struct pk_tree *t, int64_t tp,
                            enum pk_weights_part part, uint64_t seed, struct pk_arena *a,
                            struct pk_weights *out, struct pk_err *err) PK_MUST_CHECK;
void pk_weights_free(struct pk_device *dev, struct pk_weights *w); /* one that was never made is all zeros */
/* Writes every element that the part holds. */
enum pk_code pk_weights_fill(struct pk_device *dev, const struct pk_weights *w,
                             struct pk_err *err) PK_MUST_CHECK;

/* The copies that make `pieces` (a PK_WEIGHTS_DIVIDED) from `whole`, one a divided leaf, in leaf order. In the arena. */
size_t pk_weights_slices(const struct pk_weights *whole, const struct pk_weights *pieces, struct pk_arena *a,
                         struct pk_copy2d **out);

/* How those copies are done. */
enum pk_slicing {
    PK_SLICE_PER_LEAF, /* an operation a leaf, as a framework's loop over its parameters does */
    PK_SLICE_BATCHED,  /* one operation for all; on a GPU it reads a table that lies in device memory */
    PK_SLICE_GRAPH     /* an operation a leaf, captured once, replayed as one; wants pk_graph_supported */
};

struct pk_slices {
    enum pk_slicing how;
    struct pk_copies copies;
    struct pk_graph *graph;
};

/* At set-up: waits for the device, copies nothing yet. The n copies (pk_weights_slices) stay the caller's. */
enum pk_code pk_slices_make(struct pk_device *dev, enum pk_slicing how, const struct pk_copy2d *v, size_t n,
                            struct pk_slices *out, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_slices_cut(struct pk_device *dev, const struct pk_slices *s,
                           struct pk_err *err) PK_MUST_CHECK;
void pk_slices_free(struct pk_device *dev, struct pk_slices *s); /* one that was never made is all zeros */

/* Compares what is there with what pk_op_fill defines: every element, or the first, last and `samples` random ones of each leaf.
 * Not on the null device, whose memory has nothing behind it. */
enum pk_code pk_weights_check(struct pk_device *dev, const struct pk_tree *t, const struct pk_weights *w,
                              bool full, size_t samples, uint64_t seed, struct pk_arena *a,
                              struct pk_err *err) PK_MUST_CHECK;
