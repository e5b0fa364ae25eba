/* Slices: a model's divided weights cut from the whole ones: a copy for each leaf, all done in one of three ways. */
#pragma once

#include "device/graph.h"
#include "ops/rects.h"

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
