/* Sample: running the unit of work, resolving its marks to one row of numbers. */
#include "bench/measure/sample.h"

#include "base/err.h"

#include <string.h>

/* The only code that runs between a probe's timed regions is this loop. */
static enum pk_code run_reps(struct pk_ctx *ctx, int64_t reps, struct pk_err *err)
{
    const struct pk_probe *p = ctx->c->probe;
    enum pk_code rc = PK_OK;
    pk_marks_clear(&ctx->dev->marks);
    pk_timed_region(true);
    for (int64_t k = 0; k < reps && !rc; k++) {
        if (k)
            pk_marks_next_repeat(&ctx->dev->marks);
        rc = p->run(ctx, err);
    }
    pk_timed_region(false);
    return rc;
}

static enum pk_code repeat(struct pk_ctx *ctx, int64_t reps, struct pk_err *err)
{
    enum pk_code rc = run_reps(ctx, reps, err);
    return rc ? rc : pk_device_sync(ctx->dev, err);
}

void pk_sampler_end(struct pk_sampler *s)
{
    if (s->graph)
        pk_graph_free(s->ctx->dev, s->graph);
    s->graph = NULL;
}

static enum pk_code marks_wrong(struct pk_err *err, const char *why)
{
    pk_fail(err, PK_E_INTERNAL, "the marks of the probe cannot be read");
    return pk_why(err, "%s", why);
}

/* A replay does not run on the calling thread. */
static enum pk_code check_lanes(const struct pk_marks *m, struct pk_err *err)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].lane == PK_LANE_HOST)
            return marks_wrong(err, "a captured variant marks the calling thread");
    return PK_OK;
}

/* Run once before, so that memory and events are there: a capture may take none. */
static enum pk_code capture(struct pk_sampler *s, struct pk_err *err)
{
    struct pk_device *dev = s->ctx->dev;
    pk_sampler_end(s);
    enum pk_code rc = repeat(s->ctx, s->reps, err);
    if (!rc)
        rc = check_lanes(&dev->marks, err);
    if (!rc)
        rc = pk_graph_begin(dev, err);
    if (!rc)
        rc = pk_graph_end(dev, run_reps(s->ctx, s->reps, err), &s->graph, err);
    s->graph_reps = s->reps;
    return rc;
}

/* Of the capture's marks, those of the first repetition get the launch as their host time and the others none. */
static enum pk_code replay(struct pk_sampler *s, struct pk_err *err)
{
    struct pk_device *dev = s->ctx->dev;
    const uint64_t began = pk_device_now_ns(dev);
    enum pk_code rc = pk_graph_replay(dev, s->graph, err);
    const uint64_t launched = pk_device_now_ns(dev);
    for (size_t i = 0; i < dev->marks.n; i++) {
        dev->marks.v[i].begin_host_ns = began;
        dev->marks.v[i].end_host_ns = i < s->n_columns ? launched : began;
    }
    return rc ? rc : pk_device_sync(dev, err);
}

static enum pk_code check_marks(const struct pk_ctx *ctx, struct pk_err *err)
{
    const struct pk_marks *m = &ctx->dev->marks;
    if (m->overflow)
        return marks_wrong(err, "one sample marks too many regions");
    if (m->unbalanced)
        return marks_wrong(err, "a region ends before it begins");
    if (m->n_open)
        return marks_wrong(err, "a region begins and does not end");
    return PK_OK;
}

/* Of the regions that are part of no other, or of those that are. */
static void number_columns(struct pk_sampler *s, bool outer)
{
    for (size_t r = 0; r < s->n_regions; r++) {
        if ((pk_region_around(s->ctx->c, (unsigned)r) < 0) != outer)
            continue;
        s->first_column[r] = s->n_columns;
        s->n_columns += s->n_instances[r];
    }
}

static enum pk_code learn_instances(struct pk_sampler *s, struct pk_err *err)
{
    const struct pk_marks *m = &s->ctx->dev->marks;
    const struct pk_region *regions = s->ctx->c->probe->regions;
    while (regions[s->n_regions].name)
        s->n_regions++;
    for (size_t i = 0; i < m->n; i++) {
        if (m->v[i].region >= s->n_regions)
            return marks_wrong(err, "a marked region is not in the table of the probe");
        s->n_instances[m->v[i].region]++;
    }
    for (size_t r = 0; r < s->n_regions; r++) {
        bool applies = pk_region_applies(s->ctx->c, r);
        if (applies != (s->n_instances[r] > 0)) {
            pk_fail(err, PK_E_INTERNAL, "region '%s' %s", regions[r].name,
                    applies ? "was never marked" : "was marked");
            return pk_why(err, "the probe declares that it %s in this case",
                          applies ? "occurs" : "does not occur");
        }
    }
    number_columns(s, true);
    s->n_outer_columns = s->n_columns;
    number_columns(s, false);
    s->gauges = m->gauges;
    for (unsigned g = 0; g < PK_GAUGES_MAX; g++)
        if (m->gauges >> g & 1)
            s->gauge[s->n_gauges++] = g;
    return PK_OK;
}

static enum pk_code varies(const struct pk_sampler *s, struct pk_err *err)
{
    pk_fail(err, PK_E_INTERNAL, "iteration %zu marks different regions than the first", s->n);
    return pk_why(err, "every iteration of a case must do the same work");
}

static uint64_t above(uint64_t ns, uint64_t overhead_ns)
{
    return ns > overhead_ns ? ns - overhead_ns : 0;
}

/* Adds the marks up into row n. Equal totals and no instance beyond the known ones mean that each occurred in every
 * repetition. */
static enum pk_code resolve(struct pk_sampler *s, int64_t reps, struct pk_err *err)
{
    struct pk_device *dev = s->ctx->dev;
    const struct pk_marks *m = &dev->marks;
    struct pk_times *row = s->times + s->n * s->n_columns;
    if (m->n != (size_t)reps * s->n_columns || m->gauges != s->gauges)
        return varies(s, err);
    memset(row, 0, s->n_columns * sizeof *row);
    for (size_t i = 0; i < m->n; i++) {
        const struct pk_mark *k = &m->v[i];
        if (k->region >= s->n_regions || k->instance >= s->n_instances[k->region])
            return varies(s, err);
        size_t column = s->first_column[k->region] + k->instance;
        if (k->reps != s->mark_reps[column]) {
            const struct pk_region *r = &s->ctx->c->probe->regions[k->region];
            pk_fail(err, PK_E_INTERNAL, "region '%s' was repeated %u times in iteration %zu", r->name,
                    k->reps, s->n);
            return pk_why(err, "%s",
                          r->repeatable ? "a repeatable region must be timed by pk_repeat, which controls "
                                          "the number of repetitions"
                                        : "every iteration of a case must do the same work");
        }
        row[column].lane_ns += above(pk_mark_lane_ns(dev, k), s->overhead_ns[k->region]);
        row[column].host_ns += above(k->end_host_ns - k->begin_host_ns, s->overhead_ns[k->region]);
    }
    s->iteration_ns[s->n] = 0;
    for (size_t c = 0; c < s->n_outer_columns; c++)
        s->iteration_ns[s->n] += (double)row[c].lane_ns / (double)(reps * s->mark_reps[c]);
    s->disturbed[s->n] = false;
    for (size_t g = 0; g < s->n_gauges; g++)
        s->bytes[s->n * s->n_gauges + g] = m->gauge[s->gauge[g]];
    return PK_OK;
}

enum pk_code pk_sampler_first(struct pk_sampler *s, struct pk_ctx *ctx, size_t cap, struct pk_err *err)
{
    *s = (struct pk_sampler){.ctx = ctx, .reps = 1};
    s->captured = ctx->c->probe->variants[ctx->c->variant].captured && pk_graph_supported(ctx->dev);
    enum pk_code rc = repeat(ctx, 1, err);
    if (!rc)
        rc = check_marks(ctx, err);
    if (!rc)
        rc = learn_instances(s, err);
    if (rc)
        return rc;
    struct pk_arena *a = s->ctx->arena;
    size_t row = s->n_columns * sizeof *s->times + s->n_gauges * sizeof *s->bytes + sizeof(double) + 1;
    s->cap = cap < PK_SAMPLE_BYTES_MAX / row ? cap : PK_SAMPLE_BYTES_MAX / row;
    s->times = pk_new_n(a, struct pk_times, s->cap * s->n_columns);
    s->bytes = pk_new_n(a, int64_t, s->cap * s->n_gauges);
    s->iteration_ns = pk_new_n(a, double, s->cap);
    s->disturbed = pk_new_n(a, bool, s->cap);
    pk_assert(s->cap > 0);
    /* What the first iteration's marks say of repetitions. */
    const struct pk_marks *m = &s->ctx->dev->marks;
    s->mark_reps = pk_new_n(s->ctx->arena, uint32_t, 2 * s->n_columns);
    s->first_mark_reps = s->mark_reps + s->n_columns;
    for (size_t i = 0; i < m->n; i++) {
        size_t column = s->first_column[m->v[i].region] + m->v[i].instance;
        s->first_mark_reps[column] = s->mark_reps[column] = m->v[i].reps;
    }
    rc = resolve(s, 1, err);
    s->n = 1;
    return rc;
}

/* Inlined without an observer, which is the case that is timed. */
static inline __attribute__((always_inline)) enum pk_code iterate(struct pk_sampler *s, struct pk_err *err)
{
    return s->captured ? replay(s, err) : repeat(s->ctx, s->reps, err);
}

enum pk_code pk_sample_take(struct pk_sampler *s, struct pk_err *err)
{
    pk_assert(s->n < s->cap);
    if (s->ctx->c->probe->reset)
        s->ctx->c->probe->reset(s->ctx);
    const bool to_capture = s->captured && !(s->graph && s->graph_reps == s->reps);
    enum pk_code rc = to_capture ? capture(s, err) : PK_OK;
    if (!rc && s->ctx->dev->cold)
        rc = pk_device_flush(s->ctx->dev, err);
    if (!rc)
        rc = s->observer ? s->observer->sample(s->observer->user, s, iterate, err) : iterate(s, err);
    if (!rc)
        rc = check_marks(s->ctx, err);
    return rc ? rc : resolve(s, s->reps, err);
}

double pk_sample_region_ns(const struct pk_sampler *s, size_t i, unsigned region)
{
    double sum = 0;
    for (size_t k = 0; k < s->n_instances[region]; k++) {
        size_t column = s->first_column[region] + k;
        sum += (double)s->times[i * s->n_columns + column].lane_ns / (double)pk_sample_reps(s, i, column);
    }
    return sum;
}

double pk_sample_spent_ns(const struct pk_sampler *s, size_t i)
{
    uint64_t sum = 0;
    for (size_t r = 0; r < s->n_regions; r++)
        for (size_t k = 0; k < s->n_instances[r] && s->first_column[r] < s->n_outer_columns; k++)
            sum += s->times[i * s->n_columns + s->first_column[r] + k].lane_ns +
                   (i ? (uint64_t)s->reps * s->overhead_ns[r] : 0);
    return (double)sum;
}

void pk_sampler_observe(struct pk_sampler *s, const struct pk_observer *o)
{
    s->observer = o;
    if (o->attach)
        o->attach(o->user, s);
}

static enum pk_code sample_together(void *user, struct pk_sampler *s, pk_iterate_fn *iterate_once,
                                    struct pk_err *err)
{
    const struct pk_sample_barrier *l = user;
    if (pk_comm_barrier(l->comm, err))
        return err->code;
    return l->inner ? l->inner->sample(l->inner->user, s, iterate_once, err) : iterate_once(s, err);
}

void pk_sample_barrier_attach(struct pk_sample_barrier *l, struct pk_sampler *s)
{
    if (!s->ctx->comm)
        return;
    *l = (struct pk_sample_barrier){.observer = {.sample = sample_together, .user = l},
                                    .inner = s->observer == &l->observer ? l->inner : s->observer,
                                    .comm = s->ctx->comm};
    s->observer = &l->observer;
}
