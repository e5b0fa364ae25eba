/* Counts: starting, stopping and reading a source around samples, and what it read as series. */
#include "bench/count_series.h"
#include "bench/measure/steps.h"

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

static void attach_sampler(void *user, struct pk_sampler *s)
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

/* Of the steady samples. */
static size_t steady_rows(const struct counting *c, const struct pk_stopper *st, size_t *rows,
                          int64_t *ordinals)
{
    size_t n = 0;
    for (size_t i = 1; i < c->s->n; i++)
        if (pk_stop_phase(st, i) == PK_PHASE_STEADY) {
            rows[n] = i;
            ordinals[n++] = (int64_t)i;
        }
    return n;
}

/* The counts of a place, of n steady samples. */
static struct pk_counts counts_at(const struct counting *c, size_t place, const size_t *rows,
                                  const int64_t *ordinals, size_t n)
{
    const struct pk_sampler *s = c->s;
    const struct pk_reading **at = pk_new_n(c->arena, const struct pk_reading *, n + 1);
    for (size_t i = 0; i < n; i++)
        at[i] = readings(c, rows[i], place);
    const int64_t region_reps = place < s->n_regions ? s->mark_reps[s->first_column[place]] : 1;
    return (struct pk_counts){.plan = c->plan,
                              .where =
                                  place + 1 < places(c) ? s->ctx->c->probe->regions[place].name : "iteration",
                              .reps = s->reps * region_reps,
                              .ordinals = ordinals,
                              .at = at,
                              .n = n};
}

static void pack(void *user, const struct pk_stopper *st, struct pk_notes *notes, struct pk_slice *out)
{
    const struct counting *c = user;
    size_t *rows = pk_new_n(c->arena, size_t, c->s->n);
    int64_t *ordinals = pk_new_n(c->arena, int64_t, c->s->n);
    const size_t n = steady_rows(c, st, rows, ordinals);
    struct pk_counts *counts = pk_new_n(c->arena, struct pk_counts, places(c));
    size_t n_places = 0;
    for (size_t place = 0; place < places(c); place++)
        if (counted_at(c, place))
            counts[n_places++] = counts_at(c, place, rows, ordinals, n);
    pk_note_json(notes, "counters", pk_counts_add(counts, n_places, c->plan, c->arena, out));
    if (c->plan->source->moments)
        pk_note_json(notes, "moments", c->plan->source->moments(c->handle));
}

enum pk_code pk_counts_open(const struct pk_counter_env *env, const struct pk_source_plan *plan,
                            struct pk_device *dev, struct pk_arena *a, const struct pk_observer **out,
                            struct pk_err *err)
{
    struct counting *c = pk_new(a, struct counting);
    *c = (struct counting){.plan = plan, .arena = a, .observer = {sample, attach_sampler, pack, close, c}};
    *out = &c->observer;
    return plan->source->open(env, plan, dev, a, &c->handle, err);
}
