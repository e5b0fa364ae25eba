/* Memory: pinned host memory, and the L2 flush. */
#include "device/cuda/parts.h"

void *pk_cuda_pinned(struct pk_device *dev, size_t bytes)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    void *p = NULL;
    if (!pk_cuda_room(dev, c->api->cudaMallocHost(&p, bytes), "taking pinned memory"))
        return NULL;
    struct pk_pin *pin = pk_new(&dev->arena, struct pk_pin);
    *pin = (struct pk_pin){c->pins, p};
    c->pins = pin;
    return p;
}

void pk_cuda_unpin(struct pk_device *dev, void *p)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    for (struct pk_pin *pin = c->pins; p && pin; pin = pin->next)
        if (pin->p == p) {
            pin->p = NULL;
            c->api->cudaFreeHost(p);
        }
}

/* Outside of the pool: a cold run must not show in a case's memory. */
enum pk_code pk_cuda_flush_l2(struct pk_device *dev, struct pk_err *err)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    if (!c->l2_scratch) {
        c->l2_scratch_bytes = 2 * c->traits.l2_bytes;
        enum pk_code rc = pk_cuda_check(dev, c->api->cudaMalloc(&c->l2_scratch, c->l2_scratch_bytes),
                                        "taking memory to flush L2 with", err);
        if (rc)
            return rc;
    }
    return pk_cuda_check(
        dev, c->api->cudaMemsetAsync(c->l2_scratch, 1, c->l2_scratch_bytes, c->stream[PK_LANE_COMPUTE]),
        "flushing L2", err);
}
