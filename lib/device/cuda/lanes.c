/* Lanes: moments as events, calls of the host, and a kernel that lets time pass. */
#include "device/lane.h"

#include "base/err.h"
#include "device/cuda/delay.h"
#include "device/cuda/parts.h"

static cudaEvent_t event_of(const struct pk_moment *p)
{
    pk_assert(p->event);
    return p->event;
}

static enum pk_code make(struct pk_device *dev, struct pk_moment *p, struct pk_err *err)
{
    cudaEvent_t event = NULL;
    enum pk_code rc =
        pk_cuda_check(dev, pk_cuda_of(dev)->api->cudaEventCreateWithFlags(&event, cudaEventDefault),
                      "making an event", err);
    p->event = event;
    return rc;
}

static void drop(struct pk_device *dev, struct pk_moment *p)
{
    pk_cuda_of(dev)->api->cudaEventDestroy(event_of(p));
}

static enum pk_code record(struct pk_device *dev, enum pk_lane lane, struct pk_moment *p, struct pk_err *err)
{
    const struct pk_cuda *c = pk_cuda_of(dev);
    return pk_cuda_check(
        dev, c->api->cudaEventRecordWithFlags(event_of(p), c->stream[lane], cudaEventRecordDefault),
        "recording an event", err);
}

static enum pk_code await(struct pk_device *dev, enum pk_lane lane, const struct pk_moment *p,
                          struct pk_err *err)
{
    const struct pk_cuda *c = pk_cuda_of(dev);
    return pk_cuda_check(dev, c->api->cudaStreamWaitEvent(c->stream[lane], event_of(p), 0),
                         "making a lane wait", err);
}

/* "Not ready" is an answer, which the runtime remembers as an error all the same. */
static bool passed(struct pk_device *dev, const struct pk_moment *p)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    if (c->sticky)
        return true;
    const cudaError_t rc = c->api->cudaEventQuery(event_of(p));
    if (rc)
        c->api->cudaGetLastError();
    if (rc && rc != cudaErrorNotReady)
        pk_cuda_remember(c, rc, "what was put into a lane");
    return rc != cudaErrorNotReady;
}

static uint64_t ns(struct pk_device *dev, const struct pk_moment *p)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    float ms = 0;
    if (c->sticky || !c->anchor)
        return c->anchor_ns;
    const cudaError_t rc = c->api->cudaEventElapsedTime(&ms, c->anchor, event_of(p));
    if (rc)
        pk_cuda_remember(c, rc, "reading events");
    return c->anchor_ns + (uint64_t)((double)ms * 1e6 + 0.5);
}

/* The lane is idle: its clock reads this when the host's does, but for a launch. */
static enum pk_code anchor(struct pk_device *dev, struct pk_err *err)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    enum pk_code rc = PK_OK;
    if (!c->anchor)
        rc = pk_cuda_check(dev, c->api->cudaEventCreateWithFlags(&c->anchor, cudaEventDefault),
                           "making an event", err);
    if (rc)
        return rc;
    c->anchor_ns = dev->ops->now_ns(dev);
    return pk_cuda_check(
        dev, c->api->cudaEventRecordWithFlags(c->anchor, c->stream[PK_LANE_COMPUTE], cudaEventRecordDefault),
        "recording an event", err);
}

static enum pk_code call(struct pk_device *dev, enum pk_lane lane, void (*fn)(void *user), void *user,
                         struct pk_err *err)
{
    const struct pk_cuda *c = pk_cuda_of(dev);
    return pk_cuda_check(dev, c->api->cudaLaunchHostFunc(c->stream[lane], fn, user),
                         "putting a call of the host into a lane", err);
}

const struct pk_lane_ops pk_cuda_lanes = {
    .make = make,
    .drop = drop,
    .record = record,
    .await = await,
    .passed = passed,
    .ns = ns,
    .anchor = anchor,
    .call = call,
    .pin = pk_cuda_pinned,
    .unpin = pk_cuda_unpin,
};

/* A launch that is refused is the next check's to say. */
void pk_cuda_delay(struct pk_device *dev, enum pk_lane lane, uint64_t ns_long)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    if (!ns_long || c->sticky)
        return;
    const int rc = pk_k_delay(c->stream[lane], ns_long);
    if (rc && !pk_cuda_spoils_capture(c, (cudaError_t)rc))
        pk_cuda_remember(c, (cudaError_t)rc, "launching a delay");
}
