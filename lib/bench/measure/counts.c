/* Counts: starting, stopping and reading a source around samples, and what it read as series. */
#include "bench/measure/steps.h"

#include <math.h>

struct counting {
    const struct pk_source_plan *plan;
    void *handle;
    struct pk_arena *arena;
    struct pk_observer observer;
    struct pk_watcher watcher;
    bool regions;
    const struct pk_sampler *s;
    struct pk_reading *v; /* [cap][places][plan->n]; sample 0, the first iteration, is not counted */
};

static size_t places(const struct counting *c)
{
    return (c->regions ? c->s->n_regions : 0) + 1;
}

static struct pk_reading *readings(const struct counting *c, size_t sample, size_t place)
{
    return c->v + (sample * places(c) + place) * c->plan->n;
}

static void close(void *user)
{
    struct counting *c = user;
    if (c->s)
        pk_marks_watch(&c->s->ctx->dev->marks, NULL);
    if (c->handle)
        pk_source_close(c->plan->source, c->handle);
}

/* Repeats the work as often as the source requires. Counts go to row s->n. */
static enum pk_code sample(void *user, struct pk_sampler *s, pk_iterate_fn *iterate, struct pk_err *err)
{
    const struct counting *c = user;
    const struct pk_source *source = c->plan->source;
    bool again = true;
    enum pk_code rc = PK_OK;
    while (again && !rc) {
        struct pk_err stopped = {0};
        again = false;
        rc = source->start(c->handle, err);
        if (rc)
            return rc;
        rc = iterate(s, err);
        if (source->stop(c->handle, &again, &stopped) && !rc) {
            *err = stopped;
            rc = stopped.code;
        }
    }
    if (!rc)
        rc = source->read(c->handle, -1, readings(c, s->n, places(c) - 1), err);
    for (size_t r = 0; !rc && r + 1 < places(c); r++)
        if (s->n_instances[r])
            rc = source->read(c->handle, (int)r, readings(c, s->n, r), err);
    return rc;
}

static void attach(void *user, struct pk_sampler *s)
{
    struct counting *c = user;
    c->s = s;
    c->regions = (c->plan->source->caps & PK_SOURCE_REGIONS) && !s->captured;
    c->v = pk_new_n(c->arena, struct pk_reading, s->cap * places(c) * c->plan->n);
    c->watcher = (struct pk_watcher){c->plan->source->mark, c->handle};
    if (c->regions)
        pk_marks_watch(&s->ctx->dev->marks, &c->watcher);
}

/* An iteration in which a region was repeated is no unit of work. */
static bool counted_at(const struct counting *c, size_t place)
{
    if (place + 1 < places(c))
        return c->s->n_instances[place];
    for (size_t i = 0; i < c->s->n_columns; i++)
        if (c->s->mark_reps[i] > 1)
            return !c->regions;
    return true;
}

/* An event's counts, over all samples. */
struct event_summary {
    size_t n, absent;
    bool real;
    const char *why;      /* of the last absent one */
    double counted_share; /* of the time, where that was least; below 1: scaled to the whole */
};

static struct event_summary read_counts(const struct counting *c, size_t place, size_t event,
                                        const size_t *rows, size_t n)
{
    struct event_summary summary = {.n = n, .counted_share = 1};
    for (size_t i = 0; i < n; i++) {
        const struct pk_reading *r = readings(c, rows[i], place) + event;
        summary.absent += r->absent;
        summary.real |= r->is_real || r->absent;
        summary.why = r->absent ? r->why : summary.why;
        if (!r->absent && r->running_ns < r->enabled_ns)
            summary.counted_share =
                fmin(summary.counted_share, (double)r->running_ns / (double)r->enabled_ns);
    }
    return summary;
}

struct count_output {
    const struct counting *c;
    struct pk_arena *a;
    struct pk_slice *out;
    struct pk_metric_decl *metrics;
    struct pk_series *series;
    const size_t *rows; /* of steady samples */
    const int64_t *ordinals;
    size_t n;
};

static void add_series(struct count_output *k, size_t place, size_t event,
                       const struct event_summary *summary)
{
    const struct pk_event *e = &k->c->plan->events[event];
    const struct pk_sampler *s = k->c->s;
    const struct pk_region *regions = s->ctx->c->probe->regions;
    const int64_t region_reps = place < s->n_regions ? s->mark_reps[s->first_column[place]] : 1;
    const char *where = place + 1 < places(k->c) ? regions[place].name : "iteration";
    int64_t *integer = summary->real ? NULL : pk_new_n(k->a, int64_t, k->n);
    double *real = summary->real ? pk_new_n(k->a, double, k->n) : NULL;
    for (size_t i = 0; i < k->n; i++) {
        const struct pk_reading *r = readings(k->c, k->rows[i], place) + event;
        if (integer)
            integer[i] = r->integer;
        else
            real[i] = r->absent ? NAN : r->is_real ? r->real : (double)r->integer;
    }
    k->metrics[k->out->n_metrics] = (struct pk_metric_decl){
        pk_printf(k->a, "%s.%s", where, e->name), e->unit, "none", "rate", "median", "sum", "counter"};
    k->series[k->out->n_series++] =
        (struct pk_series){.metric = k->out->n_metrics++,
                           .phase = PK_PHASE_STEADY,
                           .reps = e->kind == PK_EVENT_SUM ? s->reps * region_reps : 1,
                           .n = k->n,
                           .ordinal = k->ordinals,
                           .integer = integer,
                           .real = real};
}

static json_t *event_json(const struct pk_event *e, const struct event_summary *summary)
{
    json_t *j = json_pack("{s:s, s:s}", "native", e->native, "quality",
                          e->quality == PK_QUALITY_EXACT ? "exact" : "approximate");
    if (*e->note)
        json_object_set_new(j, "note", json_string(e->note));
    if (summary->absent)
        json_object_set_new(j, "absent", json_integer((json_int_t)summary->absent));
    if (summary->why)
        json_object_set_new(j, "why", json_string(summary->why));
    if (summary->counted_share < 1)
        json_object_set_new(j, "scaled_from", json_real(summary->counted_share));
    if (*e->modes)
        json_object_set_new(j, "modes", json_string(e->modes));
    return j;
}

/* Arrays with room for the times' and the counts' rows. */
static struct count_output make_room(const struct counting *c, const struct pk_stopper *st,
                                     struct pk_slice *out)
{
    struct pk_arena *a = c->arena;
    const size_t more = places(c) * c->plan->n;
    size_t *rows = pk_new_n(a, size_t, c->s->n);
    int64_t *ordinals = pk_new_n(a, int64_t, c->s->n);
    struct count_output k = {.c = c, .a = a, .out = out, .rows = rows, .ordinals = ordinals};
    k.metrics = pk_new_n(a, struct pk_metric_decl, out->n_metrics + more);
    k.series = pk_new_n(a, struct pk_series, out->n_series + more);
    for (size_t i = 0; i < out->n_metrics; i++)
        k.metrics[i] = out->metrics[i];
    for (size_t i = 0; i < out->n_series; i++)
        k.series[i] = out->series[i];
    for (size_t i = 1; i < c->s->n; i++)
        if (pk_stop_phase(st, i) == PK_PHASE_STEADY) {
            rows[k.n] = i;
            ordinals[k.n++] = (int64_t)i;
        }
    out->metrics = k.metrics;
    out->series = k.series;
    return k;
}

static void pack(void *user, const struct pk_stopper *st, struct pk_notes *notes, struct pk_slice *out)
{
    const struct counting *c = user;
    struct count_output k = make_room(c, st, out);
    json_t *events = json_object();
    for (size_t e = 0; e < c->plan->n; e++) {
        struct event_summary all = {.counted_share = 1};
        for (size_t place = 0; place < places(c); place++) {
            if (!counted_at(c, place))
                continue;
            const struct event_summary summary = read_counts(c, place, e, k.rows, k.n);
            all.absent = summary.absent > all.absent ? summary.absent : all.absent;
            all.why = summary.why ? summary.why : all.why;
            all.counted_share = fmin(all.counted_share, summary.counted_share);
            if (summary.absent < summary.n)
                add_series(&k, place, e, &summary);
        }
        json_object_set_new(events, c->plan->events[e].name, event_json(&c->plan->events[e], &all));
    }
    pk_note_json(notes, "counters",
                 json_pack("{s:s, s:i, s:o}", "source", c->plan->source->name, "passes", (int)c->plan->passes,
                           "events", events));
    if (c->plan->source->moments)
        pk_note_json(notes, "moments", c->plan->source->moments(c->handle));
}

enum pk_code pk_counts_open(const struct pk_counter_env *env, const struct pk_source_plan *plan,
                            struct pk_device *dev, struct pk_arena *a, const struct pk_observer **out,
                            struct pk_err *err)
{
    struct counting *c = pk_new(a, struct counting);
    *c = (struct counting){.plan = plan, .arena = a, .observer = {sample, attach, pack, close, c}};
    *out = &c->observer;
    return plan->source->open(env, plan, dev, a, &c->handle, err);
}
