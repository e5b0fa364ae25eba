/* Reps: trial samples, each with more repetitions than the one before. */
#include "bench/measure/sample.h"

#include "comm/comm.h"

#include <math.h>
#include <string.h>

/* After `reps` repetitions took ns: a tenth more than should do, and not all at once, because the first ones may be slow. */
static double more_reps(double reps, double ns, double most)
{
    double enough = ns > 0 ? ceil(reps * 1.1 * PK_SAMPLE_MIN_NS / ns) : INFINITY;
    return fmin(fmin(enough, 16 * reps), most);
}

static bool is_repeatable(const struct pk_sampler *s, size_t region)
{
    const struct pk_region *r = &s->ctx->c->probe->regions[region];
    return r->repeatable && r->repeatable(s->ctx->c) && s->n_instances[region];
}

static void repeat_region(struct pk_sampler *s, size_t region, uint32_t reps)
{
    s->ctx->reps[region] = reps;
    s->overhead_ns[region] = (uint64_t)llround(reps * s->unit_overhead_ns);
    for (size_t i = 0; i < s->n_instances[region]; i++)
        s->mark_reps[s->first_column[region] + i] = reps;
}

/* Increases the repetitions of a region whose occurrences, including overhead, were too short in the last sample; false = there are
 * enough. */
static bool raise_region(struct pk_sampler *s, size_t region)
{
    const struct pk_times *t = &s->times[s->n * s->n_columns + s->first_column[region]];
    const uint32_t reps = s->ctx->reps[region];
    double sum = 0;
    if (!is_repeatable(s, region))
        return false;
    for (size_t i = 0; i < s->n_instances[region]; i++)
        sum += (double)t[i].lane_ns;
    const double ns = sum / (double)s->n_instances[region] + (double)s->overhead_ns[region];
    if (ns <= 0 || ns >= PK_SAMPLE_MIN_NS || reps >= PK_REGION_REPS_MAX)
        return false;
    repeat_region(s, region, (uint32_t)more_reps(reps, ns, PK_REGION_REPS_MAX));
    return true;
}

/* What rank 0 measured is what all of them do. */
static enum pk_code agree_on_regions(struct pk_sampler *s, bool *short_ones, struct pk_err *err)
{
    struct {
        uint32_t reps[PK_REGIONS_MAX];
        bool short_ones;
    } word = {.short_ones = *short_ones};
    memcpy(word.reps, s->ctx->reps, sizeof word.reps);
    if (pk_agree_on(s->ctx->comm, &word, sizeof word, err))
        return err->code;
    for (size_t r = 0; r < s->n_regions; r++)
        if (is_repeatable(s, r))
            repeat_region(s, r, word.reps[r]);
    *short_ones = word.short_ones;
    return PK_OK;
}

static enum pk_code choose_region_reps(struct pk_sampler *s, int64_t *runs, struct pk_err *err)
{
    bool short_ones = false;
    for (size_t r = 0; r < s->n_regions; r++)
        if (is_repeatable(s, r)) {
            repeat_region(s, r, 1);
            short_ones = true;
        }
    while (short_ones) {
        enum pk_code rc = pk_sample_take(s, err);
        if (rc)
            return rc;
        ++*runs;
        short_ones = false;
        for (size_t r = 0; r < s->n_regions; r++)
            short_ones |= raise_region(s, r);
        if (s->ctx->comm && agree_on_regions(s, &short_ones, err))
            return err->code;
    }
    return PK_OK;
}

static enum pk_code choose_sample_reps(struct pk_sampler *s, int64_t *runs, struct pk_err *err)
{
    int64_t most = (int64_t)(s->ctx->dev->marks.cap / s->n_columns);
    if (most > PK_SAMPLE_REPS_MAX)
        most = PK_SAMPLE_REPS_MAX;
    int64_t next = s->ctx->c->probe->reset || pk_sample_spent_ns(s, 0) >= 50 * PK_SAMPLE_MIN_NS ? 0 : s->reps;
    for (;;) {
        enum pk_code rc = pk_agree_on(s->ctx->comm, &next, sizeof next, err);
        if (rc || !next)
            return rc;
        s->reps = next;
        rc = pk_sample_take(s, err);
        if (rc)
            return rc;
        *runs += s->reps;
        double ns = pk_sample_spent_ns(s, s->n);
        next = ns >= PK_SAMPLE_MIN_NS || s->reps >= most
                   ? 0
                   : (int64_t)more_reps((double)s->reps, ns, (double)most);
    }
}

enum pk_code pk_sampler_choose_reps(struct pk_sampler *s, double unit_overhead_ns, int64_t *runs,
                                    struct pk_err *err)
{
    *runs = 0;
    s->unit_overhead_ns = unit_overhead_ns;
    if (s->ctx->dev->cold)
        return PK_OK;
    enum pk_code rc = choose_region_reps(s, runs, err);
    return rc ? rc : choose_sample_reps(s, runs, err);
}
