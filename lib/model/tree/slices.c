/* Slices: the three ways. */
#include "model/tree/slices.h"

static enum pk_code one_by_one(struct pk_device *dev, const struct pk_copies *c, struct pk_err *err)
{
    for (size_t i = 0; i < c->n; i++)
        if (pk_op_copy2d(dev, &c->v[i], 1, err))
            return err->code;
    return PK_OK;
}

static enum pk_code capture(struct pk_device *dev, struct pk_slices *s, struct pk_err *err)
{
    enum pk_code rc = pk_graph_begin(dev, err);
    return rc ? rc : pk_graph_end(dev, one_by_one(dev, &s->copies, err), &s->graph, err);
}

enum pk_code pk_slices_make(struct pk_device *dev, enum pk_slicing how, const struct pk_copy2d *v, size_t n,
                            struct pk_slices *out, struct pk_err *err)
{
    *out = (struct pk_slices){.how = how, .copies = {.v = v, .n = n}};
    if (how == PK_SLICE_BATCHED)
        return pk_copies_make(dev, v, n, &out->copies, err);
    return how == PK_SLICE_GRAPH ? capture(dev, out, err) : PK_OK;
}

enum pk_code pk_slices_cut(struct pk_device *dev, const struct pk_slices *s, struct pk_err *err)
{
    if (s->how == PK_SLICE_BATCHED)
        return pk_op_copies(dev, &s->copies, err);
    return s->how == PK_SLICE_GRAPH ? pk_graph_replay(dev, s->graph, err) : one_by_one(dev, &s->copies, err);
}

void pk_slices_free(struct pk_device *dev, struct pk_slices *s)
{
    pk_graph_free(dev, s->graph);
    pk_copies_free(dev, &s->copies);
    *s = (struct pk_slices){0};
}
