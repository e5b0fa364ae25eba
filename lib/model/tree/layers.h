/* Layers: whole weights a layer at a time, for models whose whole weights do not fit beside their slices.
 *
 * A layer is an element of an outermost sequence of the tree ("layer.7"); leaves between two sequences are a layer, too. The divided leaves
 * of one layer are made whole in one buffer, which all layers use one after the other, and are sliced from there. So device memory has the
 * slices, the shared leaves and one layer. Host memory has no weights at all. */
#pragma once

#include "model/tree/weights.h"

struct pk_layer {
    const struct pk_fill *fill; /* [n] whole leaves in the buffer */
    size_t n;
    struct pk_slices slices;
};

struct pk_layers {
    size_t n;
    struct pk_layer *v;
    unsigned char *block; /* device memory of the largest layer */
};

/* Device bytes of the buffer. `divided` is the tree whose parameters have their sharding. */
int64_t pk_layers_bytes(const struct pk_tree *divided, enum pk_dtype type);
/* The slices go to `pieces` (PK_WEIGHTS_DIVIDED), which belong to the caller and outlive it. At setup: waits for the device. PK_E_OOM. */
enum pk_code pk_layers_new(struct pk_device *dev, const struct pk_tree *divided,
                           const struct pk_weights *pieces, enum pk_dtype type, enum pk_slicing how,
                           uint64_t seed, struct pk_arena *a, struct pk_layers *out,
                           struct pk_err *err) PK_MUST_CHECK;
void pk_layers_free(struct pk_device *dev, struct pk_layers *l); /* one that was never made is all zeros */
/* Writes the whole weights of layer i into the buffer; then they can be sliced (pk_slices_cut). */
enum pk_code pk_layer_fill(struct pk_device *dev, const struct pk_layer *l, struct pk_err *err) PK_MUST_CHECK;
