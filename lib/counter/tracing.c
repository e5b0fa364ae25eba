/* Tracing: records the device's ops, and on a GPU its kernels by the profiler, with families from the ops. */
#include "counter/tracing.h"

#include "counter/breakdown.h"
#include "counter/cuda/gpu_trace.h"
#include "device/device.h"

struct pk_tracing {
    struct pk_device *dev;
    struct pk_trace trace, ops; /* ops: of a GPU */
    struct pk_gpu_trace *gpu;   /* NULL = the ops are the trace */
};

enum pk_code pk_tracing_open(const struct pk_counter_env *env, struct pk_device *dev, size_t cap,
                             struct pk_arena *a, struct pk_tracing **out, struct pk_err *err)
{
    struct pk_tracing *t = pk_new(a, struct pk_tracing);
    t->dev = dev;
    pk_trace_init(&t->trace, a, cap);
    *out = t;
    if (dev->kind != PK_DEVICE_CUDA)
        return PK_OK;
    pk_trace_init(&t->ops, a, cap);
    t->trace.ops = &t->ops;
    return pk_gpu_trace_open(env, dev, &t->trace, a, &t->gpu, err);
}

enum pk_code pk_tracing_start(struct pk_tracing *t, struct pk_err *err)
{
    t->trace.n = t->trace.dropped = t->ops.n = t->ops.dropped = 0;
    const enum pk_code rc = t->gpu ? pk_gpu_trace_start(t->gpu, err) : PK_OK;
    if (!rc)
        t->dev->trace = t->gpu ? &t->ops : &t->trace;
    return rc;
}

enum pk_code pk_tracing_stop(struct pk_tracing *t, const struct pk_trace **out, struct pk_err *err)
{
    t->dev->trace = NULL;
    enum pk_code rc = pk_device_sync(t->dev, err);
    if (!rc && t->gpu)
        rc = pk_gpu_trace_stop(t->gpu, err);
    *out = &t->trace;
    if (rc)
        return rc;
    pk_breakdown_regions(t->trace.v, t->trace.n, &t->dev->marks);
    if (t->gpu) {
        pk_breakdown_replayed(t->trace.v, t->trace.n, t->dev);
        pk_breakdown_regions(t->ops.v, t->ops.n, &t->dev->marks);
        pk_breakdown_families(t->trace.v, t->trace.n, &t->ops);
    }
    return PK_OK;
}

void pk_tracing_close(struct pk_tracing *t)
{
    t->dev->trace = NULL;
    if (t->gpu)
        pk_gpu_trace_close(t->gpu);
}

void pk_tracing_end(void)
{
    pk_gpu_trace_end();
}
