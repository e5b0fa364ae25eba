/* Weights: a tree's parameters as real arrays on a device, in fp32 or bf16, whole or divided among tp devices.
 *
 * Row-major. Element (r, c) of leaf i is the value of pk_op_fill at (seed + i, r * columns + c) of the whole array, so that a piece can
 * be made and checked without the whole. The local piece is always that of rank 0: for a leaf divided along dim 0 the first out/tp rows
 * (contiguous), along dim 1 (matrices only) the first in/tp elements of every row (strided). All leaves of one pk_weights live in one
 * block of device memory, each 256-byte aligned. */
#pragma once

#include "device/lane.h"
#include "model/tree/tree.h"
#include "ops/ops.h"

enum pk_weights_part {
    PK_WEIGHTS_LOCAL, /* every leaf, with its local size; if none is divided, the whole model */
    PK_WEIGHTS_DIVIDED, /* only divided leaves, which slicing makes; the others are shared with the whole model */
    PK_WEIGHTS_SHARED /* only those others */
};

struct pk_weights {
    size_t n_leaves;
    void **leaf;          /* [n_leaves] into block; NULL for a leaf that is not in the part */
    struct pk_fill *fill; /* [n_leaves] contents of each leaf; rows = 0 when not in the part */
    unsigned char *block; /* device memory, tag PK_TAG_PARAMETERS */
    int64_t bytes;
};

/* The size of a part of this tree, before allocation. Every divided dimension is a multiple of tp. */
struct pk_weights_size {
    int64_t bytes, elements; /* device memory, including alignment; numbers in it */
    size_t leaves;
};
struct pk_weights_size pk_weights_size(const struct pk_tree *t, int64_t tp, enum pk_weights_part part,
                                       enum pk_dtype type);
/* What each leaf holds, without an address and a seed: [n_leaves] in the arena; and its device bytes, aligned. */
struct pk_fill *pk_weights_layout(const struct pk_tree *t, int64_t tp, enum pk_weights_part part,
                                  enum pk_dtype type, struct pk_arena *a);
size_t pk_weights_room(const struct pk_fill *f);
/* Tables in the arena, the block from the pool: PK_E_OOM. */
enum pk_code pk_weights_new(struct pk_device *dev, const struct pk_tree *t, int64_t tp,
                            enum pk_weights_part part, enum pk_dtype type, uint64_t seed, struct pk_arena *a,
                            struct pk_weights *out, struct pk_err *err) PK_MUST_CHECK;
void pk_weights_free(struct pk_device *dev, struct pk_weights *w); /* one that was never made is all zeros */
/* Writes every element of the part. */
enum pk_code pk_weights_fill(struct pk_device *dev, const struct pk_weights *w,
                             struct pk_err *err) PK_MUST_CHECK;

/* The copies that make `pieces` (PK_WEIGHTS_DIVIDED) from `whole`, one per divided leaf, in leaf order. Returns how many. In the arena. */
size_t pk_weights_slices(const struct pk_weights *whole, const struct pk_weights *pieces, struct pk_arena *a,
                         struct pk_copy2d **out);

/* How those copies are done. */
enum pk_slicing {
    PK_SLICE_PER_LEAF, /* one operation per leaf, like a framework's loop over parameters */
    PK_SLICE_BATCHED,  /* one operation for all; on a GPU it reads a table in device memory */
    PK_SLICE_GRAPH     /* one operation per leaf, captured once and replayed; requires pk_graph_supported */
};

struct pk_slices {
    enum pk_slicing how;
    struct pk_copies copies;
    struct pk_graph *graph;
};

/* At setup: waits for the device, copies nothing yet. The n copies (pk_weights_slices) belong to the caller. */
enum pk_code pk_slices_make(struct pk_device *dev, enum pk_slicing how, const struct pk_copy2d *v, size_t n,
                            struct pk_slices *out, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_slices_cut(struct pk_device *dev, const struct pk_slices *s,
                           struct pk_err *err) PK_MUST_CHECK;
void pk_slices_free(struct pk_device *dev, struct pk_slices *s); /* one that was never made is all zeros */

/* Compares the contents with the values of pk_op_fill: every element, or the first, last and `samples` random ones of each leaf. Not for
 * the null device, which has no memory. */
enum pk_code pk_weights_check(struct pk_device *dev, const struct pk_tree *t, const struct pk_weights *w,
                              bool full, size_t samples, uint64_t seed, struct pk_arena *a,
                              struct pk_err *err) PK_MUST_CHECK;
