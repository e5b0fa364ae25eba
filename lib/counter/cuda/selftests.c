/* Self-tests: a copy between two arrays larger than any cache, whose bytes are known. */
#include "counter/cuda/cupti.h"

#include "counter/sources.h"
#include "counter/tracing.h"
#include "device/device.h"

#include <math.h>

enum { COPIES = 8 };
static const size_t COPY_BYTES = 256 << 20; /* 5 times the L2 cache of an H100 */
static const double TOLERANCE = 0.03;

struct selftest_device {
    struct pk_device dev;
    bool open;
    void *from, *to;
};

static enum pk_code set_up(struct selftest_device *b, const struct pk_counter_env *env, bool counters,
                           struct pk_arena *a, struct pk_err *err)
{
    const struct pk_device_options none = {0};
    const struct pk_cupti *c;
    if (pk_cupti_possible(env, counters, a, &c, err) || pk_device_open(&b->dev, "cuda", &none, err))
        return err->code;
    b->open = true;
    b->from = pk_device_alloc(&b->dev, COPY_BYTES, PK_TAG_WORKSPACE);
    b->to = pk_device_alloc(&b->dev, COPY_BYTES, PK_TAG_WORKSPACE);
    return b->from && b->to ? PK_OK : pk_device_oom(&b->dev, err);
}

static void tear_down(struct selftest_device *b)
{
    if (!b->open)
        return;
    pk_device_free(&b->dev, b->from);
    pk_device_free(&b->dev, b->to);
    pk_device_close(&b->dev);
}

static enum pk_code copy(struct selftest_device *b, struct pk_err *err)
{
    return pk_device_copy(&b->dev, PK_LANE_COMPUTE, PK_COPY_ON_DEVICE, b->to, b->from, COPY_BYTES, err);
}

static struct pk_source_found judge(double counted, double expected, const char *what, struct pk_arena *a)
{
    const char *counts = pk_printf(a, "%s: %.0f, expected %.0f", what, counted, expected);
    if (fabs(counted / expected - 1) <= TOLERANCE)
        return pk_found(PK_SOURCE_OK, counts, NULL);
    return pk_found(PK_SOURCE_DEGRADED, counts,
                    "do not trust these counts; end other programs that use the GPU, and try again");
}

/* One iteration, repeated as often as the source requires. */
static enum pk_code count(struct selftest_device *b, const struct pk_source_plan *p,
                          const struct pk_counter_env *env, struct pk_reading *out, struct pk_arena *a,
                          struct pk_err *err)
{
    void *h = NULL;
    bool again = true;
    enum pk_code rc = p->source->open(env, p, &b->dev, a, &h, err);
    while (!rc && again)
        if (!(rc = p->source->start(h, err)) && !(rc = copy(b, err)))
            rc = p->source->stop(h, &again, err);
    if (!rc)
        rc = p->source->read(h, -1, out, err);
    if (h)
        pk_source_close(p->source, h);
    return rc;
}

struct pk_source_found pk_gpu_counters_selftest(const struct pk_source *s, const struct pk_counter_env *env,
                                                struct pk_arena *a)
{
    static const char *const events[] = {"gpu_dram_read_bytes"};
    const struct pk_source_plan *plans;
    size_t n;
    struct pk_reading r = {0};
    struct pk_err err;
    struct selftest_device b = {0};
    enum pk_code rc =
        pk_source_gpu_counters.plan(&pk_source_gpu_counters, env, events, 1, a, &plans, &n, &err);
    if (!rc)
        rc = set_up(&b, env, true, a, &err);
    if (!rc)
        rc = count(&b, plans, env, &r, a, &err);
    tear_down(&b);
    if (rc)
        return pk_found_error(&err, a);
    return judge((double)r.integer, (double)COPY_BYTES, "bytes read from memory by a copy", a);
}

struct pk_source_found pk_gpu_trace_selftest(const struct pk_source *s, const struct pk_counter_env *env,
                                             struct pk_arena *a)
{
    struct pk_tracing *t = NULL;
    const struct pk_trace *trace = NULL;
    struct pk_err err;
    struct selftest_device b = {0};
    double bytes = 0;
    enum pk_code rc = set_up(&b, env, false, a, &err);
    if (!rc)
        rc = pk_tracing_open(env, &b.dev, 64, a, &t, &err);
    if (!rc)
        rc = pk_tracing_start(t, &err);
    for (int i = 0; !rc && i < COPIES; i++)
        rc = copy(&b, &err);
    if (!rc)
        rc = pk_tracing_stop(t, &trace, &err);
    for (size_t i = 0; !rc && i < trace->n; i++)
        bytes += (double)trace->v[i].copied_bytes;
    if (t)
        pk_tracing_close(t);
    pk_tracing_end();
    tear_down(&b);
    if (rc)
        return pk_found_error(&err, a);
    return judge(bytes, (double)COPIES * (double)COPY_BYTES, "bytes of traced copies", a);
}
