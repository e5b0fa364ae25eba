/* Tracing: the device's own ops written down, or kernels of a GPU by its profiler. */
#include "counter/tracing.h"

#include "counter/breakdown.h"
#include "counter/cuda/gpu_trace.h"
#include "device/device.h"

struct pk_tracing {
    struct pk_device *dev;
    struct pk_trace trace;
    struct pk_gpu_trace *gpu; /* NULL = the device writes down its own ops */
};

enum pk_code pk_tracing_open(const struct pk_counter_env *env, struct pk_device *dev, size_t cap,
                             struct pk_arena *a, struct pk_tracing **out, struct pk_err *err)
{
    struct pk_tracing *t = pk_new(a, struct pk_tracing);
    t->dev = dev;
    pk_trace_init(&t->trace, a, cap);
    *out = t;
    return dev->kind == PK_DEVICE_CUDA ? pk_gpu_trace_open(env, dev, &t->trace, a, &t->gpu, err) : PK_OK;
}

enum pk_code pk_tracing_start(struct pk_tracing *t, struct pk_err *err)
{
    t->trace.n = t->trace.dropped = 0;
    if (t->gpu)
        return pk_gpu_trace_start(t->gpu, err);
    t->dev->trace = &t->trace;
    return PK_OK;
}

enum pk_code pk_tracing_stop(struct pk_tracing *t, const struct pk_trace **out, struct pk_err *err)
{
    t->dev->trace = NULL;
    enum pk_code rc = pk_device_sync(t->dev, err);
    if (!rc && t->gpu)
        rc = pk_gpu_trace_stop(t->gpu, err);
    if (!rc)
        pk_breakdown_regions(t->trace.v, t->trace.n, &t->dev->marks);
    *out = &t->trace;
    return rc;
}

void pk_tracing_close(struct pk_tracing *t)
{
    t->dev->trace = NULL;
    if (t->gpu)
        pk_gpu_trace_close(t->gpu);
}
