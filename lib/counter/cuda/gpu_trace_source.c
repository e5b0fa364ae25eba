/* GPU trace as a source: how many kernels ran and how long the GPU was busy, by region; counter/tracing.h has the kernels themselves. */
#include "counter/sources.h"

#include "counter/breakdown.h"
#include "counter/cuda/cupti.h"
#include "counter/tracing.h"
#include "device/device.h"

#define EVENT(name, unit, summary) PK_EVENT("gpu-trace", name, unit, summary, PK_QUALITY_EXACT, "")

enum { PIECES, KERNELS_NS, BUSY, GAP, HOST, LAUNCH, COPIED, EVENTS };

static const struct pk_event events[EVENTS] = {
    [PIECES] = EVENT("gpu_kernels", "1", "kernels, copies and fills"),
    [KERNELS_NS] = EVENT("gpu_kernels_ns", "ns", "their time, summed"),
    [BUSY] = EVENT("gpu_busy_ns", "ns", "time in which at least one ran"),
    [GAP] = EVENT("gpu_gap_ns", "ns", "time between the first and the last in which none ran"),
    [HOST] =
        EVENT("gpu_host_bound_ns", "ns", "part of the gaps before the host began to launch the next kernel"),
    [LAUNCH] =
        EVENT("gpu_launch_ns", "ns", "part of the gaps from the launch of the next kernel until it began"),
    [COPIED] = EVENT("gpu_copied_bytes", "bytes", "bytes of copies and fills, without those of kernels"),
};

struct gpu_trace_handle {
    const struct pk_source_plan *plan;
    const size_t *index;
    struct pk_tracing *tracing;
    struct pk_device *dev;
    const struct pk_trace *last; /* iteration */
    struct pk_region_time whole; /* of it */
};

static struct pk_source_found check(const struct pk_source *s, const struct pk_counter_env *env,
                                    struct pk_arena *a)
{
    const struct pk_cupti *c;
    struct pk_err err;
    if (pk_cupti_possible(env, false, a, &c, &err))
        return pk_found_error(&err, a);
    return pk_found(PK_SOURCE_OK,
                    pk_printf(a, "CUPTI %s traces kernels and copies", c->version ? c->version : ""), NULL);
}

static enum pk_code plan(const struct pk_source *s, const struct pk_counter_env *env,
                         const char *const *names, size_t n, struct pk_arena *a,
                         const struct pk_source_plan **plans, size_t *n_plans, struct pk_err *err)
{
    const struct pk_cupti *c;
    if (pk_source_plan_table(s, env, names, n, a, plans, n_plans, err) ||
        (!env->chip && pk_cupti_possible(env, false, a, &c, err)))
        return err->code;
    return PK_OK;
}

static void close_(void *handle)
{
    struct gpu_trace_handle *h = handle;
    pk_tracing_close(h->tracing);
}

static enum pk_code open_(const struct pk_counter_env *env, const struct pk_source_plan *p,
                          struct pk_device *dev, struct pk_arena *a, void **handle, struct pk_err *err)
{
    struct gpu_trace_handle *h = pk_new(a, struct gpu_trace_handle);
    if (pk_source_plan_needs_gpu(p, dev, err))
        return err->code;
    *h = (struct gpu_trace_handle){.plan = p, .index = p->state, .dev = dev};
    const enum pk_code rc = pk_tracing_open(env, dev, PK_TRACE_DEFAULT, a, &h->tracing, err);
    if (!rc)
        *handle = h;
    return rc;
}

static enum pk_code start(void *handle, struct pk_err *err)
{
    struct gpu_trace_handle *h = handle;
    return pk_tracing_start(h->tracing, err);
}

static enum pk_code stop(void *handle, bool *again, struct pk_err *err)
{
    struct gpu_trace_handle *h = handle;
    PK_ARENA_CLEANUP struct pk_arena scratch = {0};
    struct pk_breakdown b;
    *again = false;
    if (pk_tracing_stop(h->tracing, &h->last, err))
        return err->code;
    const struct pk_trace *t = h->last;
    if (t->dropped) {
        pk_fail(err, PK_E_INTERNAL, "the GPU's trace is incomplete");
        pk_why(err, "%zu records were dropped or had no times; there is room for %zu kernels", t->dropped,
               t->cap);
        return pk_fix(err, "choose smaller sizes, or fewer repetitions in a sample");
    }
    pk_breakdown_make(t, &scratch, &b);
    h->whole = b.n_regions ? b.regions[0] : (struct pk_region_time){0}; /* nothing ran: all are 0 */
    return PK_OK;
}

/* tracing.c gives regions by the marks. */
static void mark(void *handle, unsigned region, bool end)
{
}

static enum pk_code read_(void *handle, int region, struct pk_reading *out, struct pk_err *err)
{
    const struct gpu_trace_handle *h = handle;
    const struct pk_region_time r =
        region < 0 ? h->whole : pk_breakdown_within(h->last, &h->dev->marks, (unsigned)region);
    const int64_t values[EVENTS] = {(int64_t)r.calls,  (int64_t)r.time_ns, (int64_t)r.busy_ns,
                                    (int64_t)r.gap_ns, (int64_t)r.host_ns, (int64_t)r.launch_ns,
                                    r.copied_bytes};
    for (size_t e = 0; e < h->plan->n; e++)
        out[e] = (struct pk_reading){.integer = values[h->index[e]]};
    return PK_OK;
}

const struct pk_source pk_source_gpu_trace = {
    .name = "gpu-trace",
    .summary = "kernels and copies of an NVIDIA GPU, by CUPTI",
    .caps = PK_SOURCE_REGIONS | PK_SOURCE_PROCESS,
    .check = check,
    .selftest = pk_gpu_trace_selftest,
    .events = events,
    .n_events = EVENTS,
    .plan = plan,
    .ours = "CUPTI traces only its own process, and a command is another process",
    .open = open_,
    .start = start,
    .stop = stop,
    .mark = mark,
    .read = read_,
    .close = close_,
};
