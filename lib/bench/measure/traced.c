/* Traced: iterations traced, and the breakdown of the typical one as a note. */
#include "bench/measure/measure.h"
#include "bench/measure/steps.h"
#include "counter/breakdown.h"
#include "counter/tracing.h"
#include "timeline/spans.h"

#include <stdlib.h>
#include <string.h>

/* One name of one family in one region, summed. */
struct named {
    const struct pk_kernel *first;
    size_t calls;
    uint64_t time_ns;
};

struct iteration {
    struct pk_breakdown breakdown;
    struct named *named;
    size_t n_named;
    uint64_t total_ns; /* busy and idle */
    struct pk_spans spans;
};

struct traced {
    struct pk_tracing *tracing;
    struct pk_arena *a;
    const struct pk_sampler *s;
    struct pk_observer observer;
    struct iteration *v;
    size_t n, cap;
};

static int by_kind(const void *a, const void *b)
{
    const struct pk_kernel *x = *(const struct pk_kernel *const *)a, *y = *(const struct pk_kernel *const *)b;
    if (x->region != y->region)
        return (x->region > y->region) - (x->region < y->region);
    return x->family != y->family ? (int)x->family - (int)y->family : strcmp(x->name, y->name);
}

static int longest_first(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return (x->time_ns < y->time_ns) - (x->time_ns > y->time_ns);
}

static void sum_names(const struct pk_trace *trace, struct pk_arena *a, struct iteration *iteration)
{
    const struct pk_kernel **v = pk_new_n(a, const struct pk_kernel *, trace->n + 1);
    for (size_t i = 0; i < trace->n; i++)
        v[i] = &trace->v[i];
    qsort(v, trace->n, sizeof(const struct pk_kernel *), by_kind);
    iteration->named = pk_new_n(a, struct named, trace->n + 1);
    for (size_t i = 0; i < trace->n; i++) {
        if (!i || by_kind(&v[i - 1], &v[i]))
            iteration->named[iteration->n_named++] = (struct named){.first = pk_new(a, struct pk_kernel)};
        struct named *last = &iteration->named[iteration->n_named - 1];
        if (!last->calls++)
            *(struct pk_kernel *)last->first = *v[i]; /* the trace's rows are gone with the next sample */
        last->time_ns += v[i]->end_ns - v[i]->begin_ns;
    }
    qsort(iteration->named, iteration->n_named, sizeof *iteration->named, longest_first);
}

static enum pk_code sample(void *user, struct pk_sampler *s, pk_iterate_fn *iterate, struct pk_err *err)
{
    struct traced *t = user;
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
    sum_names(trace, t->a, iteration);
    pk_spans_keep(&iteration->spans, trace, &s->ctx->dev->marks, t->a);
    return PK_OK;
}

static void attach(void *user, struct pk_sampler *s)
{
    ((struct traced *)user)->s = s;
}

static const char *region_name(const void *traced, int region)
{
    const struct traced *t = traced;
    return region == PK_WHOLE       ? "iteration"
           : region == PK_NO_REGION ? "outside"
                                    : t->s->ctx->c->probe->regions[region].name;
}

static int by_total(const void *a, const void *b)
{
    const struct iteration *x = a, *y = b;
    return (x->total_ns > y->total_ns) - (x->total_ns < y->total_ns);
}

static void pack(void *user, const struct pk_stopper *st, struct pk_notes *notes, struct pk_slice *out)
{
    const struct traced *t = user;
    if (!t->n)
        return;
    const struct pk_comm *comm = t->s->ctx->comm;
    const struct pk_spans last = t->v[t->n - 1].spans; /* ranks differ in which one is typical */
    qsort(t->v, t->n, sizeof *t->v, by_total);
    const struct iteration *typical = &t->v[t->n / 2];
    const struct pk_breakdown *b = &typical->breakdown;
    json_t *regions = json_array(), *families = json_array(), *kernels = json_array();
    for (size_t i = 0; i < b->n_regions; i++) {
        const struct pk_region_time *r = &b->regions[i];
        json_array_append_new(regions,
                              json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "region", region_name(t, r->region),
                                        "calls", (json_int_t)r->calls, "occurrences",
                                        (json_int_t)r->occurrences, "time_ns", (json_int_t)r->time_ns,
                                        "busy_ns", (json_int_t)r->busy_ns, "gap_ns", (json_int_t)r->gap_ns));
    }
    for (size_t i = 0; i < b->n_families; i++) {
        const struct pk_family_time *f = &b->families[i];
        json_array_append_new(families,
                              json_pack("{s:s, s:s, s:I, s:I, s:f, s:f}", "region", region_name(t, f->region),
                                        "family", pk_family_names[f->family], "calls", (json_int_t)f->calls,
                                        "time_ns", (json_int_t)f->time_ns, "flops", f->declared.flops,
                                        "bytes", f->declared.bytes));
    }
    for (size_t i = 0; i < typical->n_named && i < PK_KERNELS_NOTED; i++) {
        const struct named *k = &typical->named[i];
        json_array_append_new(
            kernels, json_pack("{s:s, s:s, s:s, s:I, s:I}", "region", region_name(t, k->first->region),
                               "family", pk_family_names[k->first->family], "name", k->first->name, "calls",
                               (json_int_t)k->calls, "time_ns", (json_int_t)k->time_ns));
    }
    pk_note_json(notes, "breakdown",
                 json_pack("{s:b, s:b, s:o, s:o, s:o}", "whole", (int)b->whole, "folded", (int)b->folded,
                           "regions", regions, "families", families, "kernels", kernels));
    pk_note_json(notes, "trace",
                 pk_spans_json(comm && comm->processes > 1 ? &last : &typical->spans, region_name, t, t->a));
}

static void close(void *user)
{
    struct traced *t = user;
    if (t->tracing)
        pk_tracing_close(t->tracing);
}

enum pk_code pk_traced_open(const struct pk_counter_env *env, struct pk_device *dev, struct pk_arena *a,
                            const struct pk_observer **out, struct pk_err *err)
{
    struct traced *t = pk_new(a, struct traced);
    *t = (struct traced){.a = a, .observer = {sample, attach, pack, close, t}};
    *out = &t->observer;
    return pk_tracing_open(env, dev, PK_TRACE_DEFAULT, a, &t->tracing, err);
}
