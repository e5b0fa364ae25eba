/* Trace observer: iterations traced, and the breakdown of the typical one as a note. */
#include "bench/measure/measure.h"
#include "bench/measure/steps.h"
#include "counter/breakdown.h"
#include "counter/tracing.h"
#include "timeline/breakdown_note.h"
#include "timeline/spans.h"

#include <stdlib.h>

struct iteration {
    struct pk_breakdown breakdown;
    struct pk_named_kernels named;
    uint64_t total_ns; /* busy and idle */
    struct pk_spans spans;
};

struct trace_observer {
    struct pk_tracing *tracing;
    struct pk_arena *a;
    const struct pk_sampler *s;
    struct pk_observer observer;
    struct iteration *v;
    size_t n, cap;
};

static enum pk_code sample(void *user, struct pk_sampler *s, pk_iterate_fn *iterate, struct pk_err *err)
{
    struct trace_observer *t = user;
    const struct pk_trace *trace = NULL;
    struct pk_err stopped = {0};
    if (pk_tracing_start(t->tracing, err))
        return err->code;
    enum pk_code rc = iterate(s, err);
    if (pk_tracing_stop(t->tracing, &trace, &stopped) && !rc) {
        *err = stopped;
        rc = stopped.code;
    }
    if (rc)
        return rc;
    t->v = pk_grow(t->a, t->v, sizeof *t->v, t->n, &t->cap);
    struct iteration *iteration = &t->v[t->n++];
    *iteration = (struct iteration){0};
    pk_breakdown_make(trace, t->a, &iteration->breakdown);
    iteration->total_ns = iteration->breakdown.n_regions ? iteration->breakdown.regions[0].busy_ns +
                                                               iteration->breakdown.regions[0].gap_ns
                                                         : 0;
    pk_kernels_by_name(trace, t->a, &iteration->named);
    pk_spans_keep(&iteration->spans, trace, &s->ctx->dev->marks, t->a);
    return PK_OK;
}

static void attach_sampler(void *user, struct pk_sampler *s)
{
    ((struct trace_observer *)user)->s = s;
}

static const char *region_name(const void *observer, int region)
{
    const struct trace_observer *t = observer;
    return t->s->ctx->c->probe->regions[region].name;
}

static int by_total(const void *a, const void *b)
{
    const struct iteration *x = a, *y = b;
    return (x->total_ns > y->total_ns) - (x->total_ns < y->total_ns);
}

static void pack(void *user, const struct pk_stopper *st, struct pk_notes *notes, struct pk_slice *out)
{
    const struct trace_observer *t = user;
    if (!t->n)
        return;
    const struct pk_comm *comm = t->s->ctx->comm;
    const struct pk_spans last = t->v[t->n - 1].spans; /* ranks differ in which one is typical */
    qsort(t->v, t->n, sizeof *t->v, by_total);
    const struct iteration *typical = &t->v[t->n / 2];
    pk_note_json(notes, "breakdown", pk_breakdown_json(&typical->breakdown, &typical->named, region_name, t));
    pk_note_json(notes, "trace",
                 pk_spans_json(comm && comm->processes > 1 ? &last : &typical->spans, region_name, t, t->a));
}

static void close(void *user)
{
    struct trace_observer *t = user;
    if (t->tracing)
        pk_tracing_close(t->tracing);
}

enum pk_code pk_trace_observer_open(const struct pk_counter_env *env, struct pk_device *dev,
                                    struct pk_arena *a, const struct pk_observer **out, struct pk_err *err)
{
    struct trace_observer *t = pk_new(a, struct trace_observer);
    *t = (struct trace_observer){.a = a, .observer = {sample, attach_sampler, pack, close, t}};
    *out = &t->observer;
    return pk_tracing_open(env, dev, PK_TRACE_DEFAULT, a, &t->tracing, err);
}
