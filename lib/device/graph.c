/* Graph: the wrappers around a device kind's graphs. */
#include "device/graph.h"

#include "base/err.h"

bool pk_graph_supported(const struct pk_device *dev)
{
    return dev->ops->graphs != NULL;
}

enum pk_code pk_graph_begin(struct pk_device *dev, struct pk_err *err)
{
    pk_assert(pk_graph_supported(dev) && !dev->capturing);
    const enum pk_code rc = dev->ops->graphs->begin(dev, err);
    if (rc)
        return rc;
    struct pk_graph *g = pk_new(&dev->arena, struct pk_graph);
    g->taped.tape = &g->tape;
    g->before = dev->trace;
    dev->trace = &g->taped;
    dev->capturing = g;
    return PK_OK;
}

enum pk_code pk_graph_end(struct pk_device *dev, enum pk_code work, struct pk_graph **out, struct pk_err *err)
{
    struct pk_graph *g = dev->capturing;
    pk_assert(g);
    dev->trace = g->before;
    dev->capturing = NULL;
    const enum pk_code rc = dev->ops->graphs->end(dev, work, &g->exec, err);
    if (!rc)
        *out = g;
    return rc;
}

enum pk_code pk_graph_replay(struct pk_device *dev, struct pk_graph *g, struct pk_err *err)
{
    if (!dev->trace)
        return dev->ops->graphs->replay(dev, g->exec, err);
    const uint64_t asked_ns = pk_device_now_ns(dev);
    const enum pk_code rc = dev->ops->graphs->replay(dev, g->exec, err);
    if (!rc)
        pk_trace_add_tape(dev->trace, "captured graph", &g->tape, asked_ns);
    return rc;
}

void pk_graph_free(struct pk_device *dev, struct pk_graph *g)
{
    if (g)
        dev->ops->graphs->drop(dev, g->exec);
}
