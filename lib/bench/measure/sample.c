/* Sample: running the unit of work, resolving its marks to one row of numbers. */
#include "bench/measure/sample.h"

#include "base/assert.h"

#include <math.h>
#include <string.h>

/* The only code that runs between a probe's timed regions is this loop. */
static enum pk_code repeat(struct pk_ctx *ctx, int64_t reps, struct pk_err *err)
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
    return rc ? rc : pk_device_sync(ctx->dev, err);
}

static enum pk_code marks_wrong(struct pk_err *err, const char *why)
{
    pk_fail(err, PK_E_INTERNAL, "the probe's marks cannot be read");
    return pk_why(err, "%s", why);
}

static enum pk_code check_marks(const struct pk_ctx *ctx, struct pk_err *err)
{
    const struct pk_marks *m = &ctx->dev->marks;
    if (m->overflow)
        return marks_wrong(err, "one sample marks more regions than there is room for");
    if (m->unbalanced)
        return marks_wrong(err, "a region ends that did not begin");
    if (m->n_open)
        return marks_wrong(err, "a region begins and does not end");
    return PK_OK;
}

static enum pk_code learn_instances(struct pk_sampler *s, struct pk_err *err)
{
    const struct pk_marks *m = &s->ctx->dev->marks;
    const struct pk_region *regions = s->ctx->c->probe->regions;
    while (regions[s->n_regions].name)
        s->n_regions++;
    for (size_t i = 0; i < m->n; i++) {
        if (m->v[i].region >= s->n_regions)
            return marks_wrong(err, "a region is marked that is not in the probe's table");
        s->n_instances[m->v[i].region]++;
    }
    for (size_t r = 0; r < s->n_regions; r++) {
        bool applies = !regions[r].applies || regions[r].applies(s->ctx->c);
        if (applies != (s->n_instances[r] > 0)) {
            pk_fail(err, PK_E_INTERNAL, "region '%s' %s", regions[r].name,
                    applies ? "was never marked" : "was marked");
            return pk_why(err, "the probe says that it %s in this case",
                          applies ? "occurs" : "does not occur");
        }
        s->first_column[r] = s->n_columns;
        s->n_columns += s->n_instances[r];
    }
    s->gauges = m->gauges;
    for (unsigned g = 0; g < PK_GAUGES_MAX; g++)
        if (m->gauges >> g & 1)
            s->gauge[s->n_gauges++] = g;
    return PK_OK;
}

static void make_arrays(struct pk_sampler *s, size_t cap)
{
    struct pk_arena *a = s->ctx->arena;
    size_t row = s->n_columns * sizeof *s->times + s->n_gauges * sizeof *s->bytes + sizeof(double) + 1;
    s->cap = cap < PK_SAMPLE_BYTES_MAX / row ? cap : PK_SAMPLE_BYTES_MAX / row;
    s->times = pk_new_n(a, struct pk_times, s->cap * s->n_columns);
    s->bytes = pk_new_n(a, int64_t, s->cap * s->n_gauges);
    s->total_ns = pk_new_n(a, double, s->cap);
    s->disturbed = pk_new_n(a, bool, s->cap);
}

static enum pk_code varies(const struct pk_sampler *s, struct pk_err *err)
{
    pk_fail(err, PK_E_INTERNAL, "iteration %zu marks other regions than the first", s->n);
    return pk_why(err, "every iteration of a case must do the same work");
}

/* Adds the marks up into row n. Equal totals and no instance beyond the known ones mean that each occurred in every
 * repetition. */
static enum pk_code resolve(struct pk_sampler *s, int64_t reps, struct pk_err *err)
{
    struct pk_device *dev = s->ctx->dev;
    const struct pk_marks *m = &dev->marks;
    struct pk_times *row = s->times + s->n * s->n_columns;
    uint64_t total = 0;
    if (m->n != (size_t)reps * s->n_columns || m->gauges != s->gauges)
        return varies(s, err);
    memset(row, 0, s->n_columns * sizeof *row);
    for (size_t i = 0; i < m->n; i++) {
        const struct pk_mark *k = &m->v[i];
        if (k->region >= s->n_regions || k->instance >= s->n_instances[k->region])
            return varies(s, err);
        struct pk_times *t = &row[s->first_column[k->region] + k->instance];
        uint64_t ns = pk_mark_lane_ns(dev, k);
        t->lane_ns += ns;
        t->host_ns += k->end_host_ns - k->begin_host_ns;
        total += ns;
    }
    s->total_ns[s->n] = (double)total;
    s->disturbed[s->n] = false;
    for (size_t g = 0; g < s->n_gauges; g++)
        s->bytes[s->n * s->n_gauges + g] = m->gauge[s->gauge[g]];
    return PK_OK;
}

enum pk_code pk_sampler_first(struct pk_sampler *s, struct pk_ctx *ctx, size_t cap, struct pk_err *err)
{
    *s = (struct pk_sampler){.ctx = ctx, .reps = 1};
    enum pk_code rc = repeat(ctx, 1, err);
    if (!rc)
        rc = check_marks(ctx, err);
    if (!rc)
        rc = learn_instances(s, err);
    if (rc)
        return rc;
    make_arrays(s, cap);
    pk_assert(s->cap > 0);
    rc = resolve(s, 1, err);
    s->n = 1;
    return rc;
}

enum pk_code pk_sample_take(struct pk_sampler *s, struct pk_err *err)
{
    pk_assert(s->n < s->cap);
    if (s->ctx->c->probe->reset)
        s->ctx->c->probe->reset(s->ctx);
    enum pk_code rc = repeat(s->ctx, s->reps, err);
    if (!rc)
        rc = check_marks(s->ctx, err);
    return rc ? rc : resolve(s, s->reps, err);
}

enum pk_code pk_sampler_calibrate(struct pk_sampler *s, int64_t *runs, struct pk_err *err)
{
    int64_t most = (int64_t)(s->ctx->dev->marks.cap / s->n_columns);
    if (most > PK_SAMPLE_REPS_MAX)
        most = PK_SAMPLE_REPS_MAX;
    *runs = 0;
    if (s->ctx->c->probe->reset || s->total_ns[0] >= 50 * PK_SAMPLE_MIN_NS)
        return PK_OK;
    for (;;) {
        enum pk_code rc = pk_sample_take(s, err);
        if (rc)
            return rc;
        *runs += s->reps;
        double ns = s->total_ns[s->n];
        if (ns >= PK_SAMPLE_MIN_NS || s->reps >= most)
            return PK_OK;
        double more = ns > 0 ? ceil((double)s->reps * 1.1 * PK_SAMPLE_MIN_NS / ns) : INFINITY;
        s->reps = (int64_t)fmin(fmin(more, 16 * (double)s->reps), (double)most);
    }
}

double pk_sample_region_ns(const struct pk_sampler *s, size_t i, unsigned region)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < s->n_instances[region]; k++)
        sum += s->times[i * s->n_columns + s->first_column[region] + k].lane_ns;
    return (double)sum;
}
