/* Events: marks on a lane as CUDA events. */
#include "base/err.h"
#include "device/cuda/parts.h"

/* Room for `slot`: the table doubles and its events are made at once, so that a repeated iteration makes none. */
static void grow(struct pk_device *dev, size_t slot)
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
        grow(dev, slot);
    if (c->sticky)
        return;
    const cudaError_t rc = c->api->cudaEventRecordWithFlags(
        c->events[slot], c->stream[lane], c->capturing ? cudaEventRecordExternal : cudaEventRecordDefault);
    if (rc && !pk_cuda_spoils_capture(c, rc))
        pk_cuda_remember(c, rc, "recording an event");
}

/* The runtime answers in milliseconds as a float: exact to 24 bits, 0.1 us in a second. */
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
