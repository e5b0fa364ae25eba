/* Layers: which leaves are in a layer, and where they are in the buffer. */
#include "model/tree/layers.h"

struct numbering {
    uint32_t *layer_of; /* [leaves] */
    uint32_t last;
};

/* Leaves are visited in their order. */
static void number(const struct pk_node *n, bool inside, struct numbering *m)
{
    if (n->type->kind == PK_NODE_LEAF)
        m->layer_of[n->value] = m->last;
    const bool outermost = !inside && n->type->kind == PK_NODE_SEQUENCE;
    for (uint32_t i = 0; i < n->arity; i++) {
        m->last += outermost;
        number(n->child[i], inside || outermost, m);
    }
    m->last += outermost;
}

/* The divided leaves, whole, in leaf order: with tp 1 the piece is the whole. Returns how many; layer[k] is that of the k-th. */
static size_t whole_leaves(const struct pk_tree *divided, enum pk_dtype type, struct pk_arena *a,
                           struct pk_fill **fill, uint32_t **layer, size_t **leaf)
{
    struct numbering m = {.layer_of = pk_new_n(a, uint32_t, divided->n_leaves)};
    number(divided->root, false, &m);
    *fill = pk_weights_layout(divided, 1, PK_WEIGHTS_DIVIDED, type, a);
    *layer = pk_new_n(a, uint32_t, divided->n_leaves);
    *leaf = pk_new_n(a, size_t, divided->n_leaves);
    size_t n = 0;
    for (size_t i = 0; i < divided->n_leaves; i++) {
        if (!(*fill)[i].rows)
            continue;
        (*fill)[n] = (*fill)[i];
        (*layer)[n] = m.layer_of[i];
        (*leaf)[n++] = i;
    }
    return n;
}

int64_t pk_layers_bytes(const struct pk_tree *divided, enum pk_dtype type)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_fill *fill;
    uint32_t *layer;
    size_t *leaf, now = 0, most = 0;
    const size_t n = whole_leaves(divided, type, &a, &fill, &layer, &leaf);
    for (size_t k = 0; k < n; k++) {
        now = (k && layer[k] == layer[k - 1] ? now : 0) + pk_weights_room(&fill[k]);
        most = now > most ? now : most;
    }
    return (int64_t)most;
}

enum pk_code pk_layers_new(struct pk_device *dev, const struct pk_tree *divided,
                           const struct pk_weights *pieces, enum pk_dtype type, enum pk_slicing how,
                           uint64_t seed, struct pk_arena *a, struct pk_layers *out, struct pk_err *err)
{
    struct pk_fill *fill;
    uint32_t *layer;
    size_t *leaf;
    const size_t n = whole_leaves(divided, type, a, &fill, &layer, &leaf);
    struct pk_copy2d *copies;
    struct pk_weights whole = {.leaf = pk_new_n(a, void *, divided->n_leaves)};
    *out = (struct pk_layers){.v = pk_new_n(a, struct pk_layer, n)};
    if (!(out->block = pk_device_alloc(dev, (size_t)pk_layers_bytes(divided, type), PK_TAG_PARAMETERS)))
        return pk_device_oom(dev, err);
    unsigned char *next = out->block;
    for (size_t k = 0; k < n; k++) {
        if (!k || layer[k] != layer[k - 1]) {
            out->v[out->n++].fill = &fill[k];
            next = out->block;
        }
        out->v[out->n - 1].n++;
        fill[k].seed = seed + leaf[k];
        whole.leaf[leaf[k]] = fill[k].dst = next;
        next += pk_weights_room(&fill[k]);
    }
    pk_assert(pk_weights_slices(&whole, pieces, a, &copies) == n);
    enum pk_code rc = PK_OK;
    for (size_t i = 0; !rc && i < out->n; copies += out->v[i++].n)
        rc = pk_slices_make(dev, how, copies, out->v[i].n, &out->v[i].slices, err);
    return rc;
}

void pk_layers_free(struct pk_device *dev, struct pk_layers *l)
{
    for (size_t i = 0; i < l->n; i++)
        pk_slices_free(dev, &l->v[i].slices);
    pk_device_free(dev, l->block);
    *l = (struct pk_layers){0};
}

enum pk_code pk_layer_fill(struct pk_device *dev, const struct pk_layer *l, struct pk_err *err)
{
    return pk_op_fill(dev, l->fill, l->n, err);
}
