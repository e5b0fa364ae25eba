/* Lane: the device's hooks where lanes are queues, the host's clock where they are not; the wrappers around its graphs. */
#include "device/lane.h"

#include "base/err.h"

bool pk_lanes_queue(const struct pk_device *dev)
{
    return dev->ops->lanes != NULL;
}

enum pk_code pk_lane_event_make(struct pk_device *dev, struct pk_lane_event *p, struct pk_err *err)
{
    *p = (struct pk_lane_event){0};
    return dev->ops->lanes ? dev->ops->lanes->make(dev, p, err) : PK_OK;
}

void pk_lane_event_drop(struct pk_device *dev, struct pk_lane_event *p)
{
    if (p->event)
        dev->ops->lanes->drop(dev, p);
    p->event = NULL;
}

enum pk_code pk_lane_event_record(struct pk_device *dev, enum pk_lane lane, struct pk_lane_event *p,
                                  struct pk_err *err)
{
    pk_assert(lane < PK_LANE_HOST);
    if (dev->ops->lanes)
        return dev->ops->lanes->record(dev, lane, p, err);
    p->ns = dev->ops->now_ns(dev);
    return PK_OK;
}

enum pk_code pk_lane_await(struct pk_device *dev, enum pk_lane lane, const struct pk_lane_event *p,
                           struct pk_err *err)
{
    pk_assert(lane < PK_LANE_HOST);
    return dev->ops->lanes ? dev->ops->lanes->await(dev, lane, p, err) : PK_OK;
}

bool pk_lane_event_passed(struct pk_device *dev, const struct pk_lane_event *p)
{
    return dev->ops->lanes ? dev->ops->lanes->passed(dev, p) : true;
}

uint64_t pk_lane_event_ns(struct pk_device *dev, const struct pk_lane_event *p)
{
    return dev->ops->lanes ? dev->ops->lanes->ns(dev, p) : p->ns;
}

enum pk_code pk_lanes_anchor(struct pk_device *dev, struct pk_err *err)
{
    return dev->ops->lanes ? dev->ops->lanes->anchor(dev, err) : PK_OK;
}

enum pk_code pk_lane_call(struct pk_device *dev, enum pk_lane lane, void (*fn)(void *user), void *user,
                          struct pk_err *err)
{
    pk_assert(dev->ops->lanes && lane < PK_LANE_HOST);
    return dev->ops->lanes->call(dev, lane, fn, user, err);
}

void *pk_lanes_pin(struct pk_device *dev, size_t bytes)
{
    pk_assert(dev->ops->lanes);
    return dev->ops->lanes->pin(dev, bytes);
}

void pk_lanes_unpin(struct pk_device *dev, void *p)
{
    if (p)
        dev->ops->lanes->unpin(dev, p);
}

/* --- graphs --------------------------------------------------------------------------------------------------------- */

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
    const uint64_t launched_ns = pk_device_now_ns(dev);
    const enum pk_code rc = dev->ops->graphs->replay(dev, g->exec, err);
    if (!rc)
        pk_trace_add_tape(dev->trace, "captured graph", &g->tape, launched_ns);
    return rc;
}

void pk_graph_free(struct pk_device *dev, struct pk_graph *g)
{
    if (g)
        dev->ops->graphs->drop(dev, g->exec);
}
