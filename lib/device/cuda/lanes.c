/* Lanes: events and marks, calls of the host, and a kernel that lets time pass. */
#include "device/lane.h"

#include "base/err.h"
#include "device/cuda/parts.h"

static cudaEvent_t event_of(const struct pk_lane_event *p)
{
    pk_assert(p->event);
    return p->event;
}

static enum pk_code make(struct pk_device *dev, struct pk_lane_event *p, struct pk_err *err)
{
    cudaEvent_t event = NULL;
    enum pk_code rc =
        pk_cuda_check(dev, pk_cuda_of(dev)->api->cudaEventCreateWithFlags(&event, cudaEventDefault),
                      "making an event", err);
    p->event = event;
    return rc;
}

static void drop(struct pk_device *dev, struct pk_lane_event *p)
{
    pk_cuda_of(dev)->api->cudaEventDestroy(event_of(p));
}

static enum pk_code record(struct pk_device *dev, enum pk_lane lane, struct pk_lane_event *p,
                           struct pk_err *err)
{
    const struct pk_cuda *c = pk_cuda_of(dev);
    return pk_cuda_check(
        dev, c->api->cudaEventRecordWithFlags(event_of(p), c->stream[lane], cudaEventRecordDefault),
        "recording an event", err);
}

static enum pk_code await(struct pk_device *dev, enum pk_lane lane, const struct pk_lane_event *p,
                          struct pk_err *err)
{
    const struct pk_cuda *c = pk_cuda_of(dev);
    return pk_cuda_check(dev, c->api->cudaStreamWaitEvent(c->stream[lane], event_of(p), 0),
                         "making a lane wait", err);
}

/* "Not ready" is an answer, which the runtime remembers as an error all the same. */
static bool passed(struct pk_device *dev, const struct pk_lane_event *p)
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

static uint64_t ns(struct pk_device *dev, const struct pk_lane_event *p)
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

/* The lane is idle: its clock reads this when the host's does, except for the time of a launch. */
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

/* --- marks ---------------------------------------------------------------------------------------------------------- */

/* Room for `slot`: the table doubles and its events are made at once, so that a repeated iteration makes none. */
static void make_events(struct pk_device *dev, size_t slot)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    size_t cap = c->n_events;
    const bool timed = pk_timed_region(false);
    while (cap <= slot)
        cap = cap ? 2 * cap : 256;
    cudaEvent_t *more = pk_new_n(&dev->arena, cudaEvent_t, cap);
    cudaError_t rc = cudaSuccess;
    for (size_t i = 0; i < cap && !rc; i++)
        if (i < c->n_events)
            more[i] = c->events[i];
        else
            rc = c->api->cudaEventCreateWithFlags(&more[i], cudaEventDefault);
    if (rc)
        pk_cuda_remember(c, rc, "making events");
    c->events = more;
    c->n_events = cap;
    pk_timed_region(timed);
}

/* In a capture the event is recorded by every replay, not only by the capture; one that something else has invalidated refuses its events
 * too. */
void pk_cuda_record(struct pk_device *dev, enum pk_lane lane, size_t slot)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    if (slot >= c->n_events)
        make_events(dev, slot);
    if (c->sticky)
        return;
    const cudaError_t rc = c->api->cudaEventRecordWithFlags(
        c->events[slot], c->stream[lane], c->capturing ? cudaEventRecordExternal : cudaEventRecordDefault);
    if (rc && !pk_cuda_spoils_capture(c, rc))
        pk_cuda_remember(c, rc, "recording an event");
}

/* The runtime returns milliseconds as a float, with a resolution of 0.5 us: exact to that and to 24 bits, 0.1 us in a second. */
uint64_t pk_cuda_elapsed_ns(struct pk_device *dev, size_t from, size_t to)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    float ms = 0;
    pk_assert(from < c->n_events && to < c->n_events);
    if (c->sticky)
        return 0;
    const cudaError_t rc = c->api->cudaEventElapsedTime(&ms, c->events[from], c->events[to]);
    if (rc) {
        pk_cuda_remember(c, rc, "reading events");
        return 0;
    }
    return ms > 0 ? (uint64_t)((double)ms * 1e6 + 0.5) : 0;
}

void pk_cuda_events_free(struct pk_cuda *c)
{
    for (size_t i = 0; i < c->n_events; i++)
        if (c->events[i])
            c->api->cudaEventDestroy(c->events[i]);
}
