/* Lane: the device's hooks where lanes are queues, the host's clock where they are not. */
#include "device/lane.h"

#include "base/err.h"

bool pk_lanes_queue(const struct pk_device *dev)
{
    return dev->ops->lanes != NULL;
}

enum pk_code pk_moment_make(struct pk_device *dev, struct pk_moment *p, struct pk_err *err)
{
    *p = (struct pk_moment){0};
    return dev->ops->lanes ? dev->ops->lanes->make(dev, p, err) : PK_OK;
}

void pk_moment_drop(struct pk_device *dev, struct pk_moment *p)
{
    if (p->event)
        dev->ops->lanes->drop(dev, p);
    p->event = NULL;
}

enum pk_code pk_moment_record(struct pk_device *dev, enum pk_lane lane, struct pk_moment *p,
                              struct pk_err *err)
{
    pk_assert(lane < PK_LANE_HOST);
    if (dev->ops->lanes)
        return dev->ops->lanes->record(dev, lane, p, err);
    p->ns = dev->ops->now_ns(dev);
    return PK_OK;
}

enum pk_code pk_lane_await(struct pk_device *dev, enum pk_lane lane, const struct pk_moment *p,
                           struct pk_err *err)
{
    pk_assert(lane < PK_LANE_HOST);
    return dev->ops->lanes ? dev->ops->lanes->await(dev, lane, p, err) : PK_OK;
}

bool pk_moment_passed(struct pk_device *dev, const struct pk_moment *p)
{
    return dev->ops->lanes ? dev->ops->lanes->passed(dev, p) : true;
}

uint64_t pk_moment_ns(struct pk_device *dev, const struct pk_moment *p)
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
