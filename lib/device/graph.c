/* Graph: the wrappers around a device kind's graphs. */
#include "device/graph.h"

#include "base/assert.h"

bool pk_graph_supported(const struct pk_device *dev)
{
    return dev->ops->graphs != NULL;
}

enum pk_code pk_graph_begin(struct pk_device *dev, struct pk_err *err)
{
    pk_assert(pk_graph_supported(dev));
    return dev->ops->graphs->begin(dev, err);
}

enum pk_code pk_graph_end(struct pk_device *dev, enum pk_code work, struct pk_graph **out, struct pk_err *err)
{
    return dev->ops->graphs->end(dev, work, out, err);
}

enum pk_code pk_graph_replay(struct pk_device *dev, struct pk_graph *g, struct pk_err *err)
{
    return dev->ops->graphs->replay(dev, g, err);
}

void pk_graph_free(struct pk_device *dev, struct pk_graph *g)
{
    if (g)
        dev->ops->graphs->drop(dev, g);
}
