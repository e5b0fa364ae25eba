/* Stop: the adaptive rule, and the warm-up cut it rests on. */
#include "bench/measure/stop.h"

#include "base/clock.h"
#include "stats/stats.h"

#include <math.h>
#include <string.h>

enum { LOOK_AGAIN_MS = 20 };

void pk_stopper_init(struct pk_stopper *st, const struct pk_stop *rule, const struct pk_sampler *s,
                     uint64_t now_ns)
{
    int64_t first = rule->min_samples < rule->max_samples ? rule->min_samples : rule->max_samples;
    *st = (struct pk_stopper){.rule = rule,
                              .s = s,
                              .v = pk_new_n(s->ctx->arena, double, s->cap),
                              .scratch = pk_new_n(s->ctx->arena, double, s->cap),
                              .started_ns = now_ns,
                              .checked_ns = now_ns,
                              .next_check = (size_t)(first + (rule->warmup > 0 ? rule->warmup : 0)),
                              .settled = true,
                              .noise = NAN};
}

void pk_stop_recount(struct pk_stopper *st)
{
    size_t n = 0;
    for (size_t i = 1 + st->cut; i < st->s->n; i++)
        n += st->s->disturbed[i];
    st->kept = 2 * n > st->s->n - 1 - st->cut;
    st->disturbed = st->kept ? 0 : n;
}

enum pk_phase pk_stop_phase(const struct pk_stopper *st, size_t i)
{
    if (i == 0)
        return PK_PHASE_FIRST;
    if (i <= st->cut)
        return PK_PHASE_WARMUP;
    return st->s->disturbed[i] && !st->kept ? PK_PHASE_DISTURBED : PK_PHASE_STEADY;
}

size_t pk_stop_steady(const struct pk_stopper *st, int region, double *v)
{
    size_t n = 0;
    for (size_t i = 1 + st->cut; i < st->s->n; i++)
        if (pk_stop_phase(st, i) == PK_PHASE_STEADY)
            v[n++] = region < 0 ? st->s->iteration_ns[i] : pk_sample_region_ns(st->s, i, (unsigned)region);
    return n;
}

/* How many of the n samples after the first iteration are warm-up. */
static void find_cut(struct pk_stopper *st, size_t n)
{
    if (st->rule->warmup >= 0) {
        st->cut = (size_t)st->rule->warmup < n ? (size_t)st->rule->warmup : n;
        return;
    }
    memcpy(st->v, st->s->iteration_ns + 1, n * sizeof *st->v);
    struct pk_warmup w = pk_find_warmup(st->v, n, st->scratch);
    st->cut = w.cut;
    st->settled = w.settled;
}

/* Relative half-width of the interval of the median: the widest region's. */
static double widest(const struct pk_stopper *st)
{
    double worst = 0;
    for (size_t r = 0; r < st->s->n_regions; r++) {
        if (!st->s->n_instances[r])
            continue;
        size_t n = pk_stop_steady(st, (int)r, st->v);
        struct pk_interval ci = pk_median_interval(st->v, n, 0.95);
        double half = (ci.hi - ci.lo) / 2;
        if (isnan(half))
            return NAN;
        if (half > 0)
            worst = fmax(worst, half / pk_quantile(st->v, n, 0.5));
    }
    return worst;
}

static const char *reason_to_stop(struct pk_stopper *st, size_t n, uint64_t now_ns)
{
    const struct pk_stop *rule = st->rule;
    find_cut(st, n);
    pk_stop_recount(st);
    size_t steady = pk_stop_steady(st, -1, st->v);
    double steady_ns = 0;
    for (size_t i = 1 + st->cut; i < st->s->n; i++)
        if (pk_stop_phase(st, i) == PK_PHASE_STEADY)
            steady_ns += pk_sample_spent_ns(st->s, i);
    st->noise = widest(st);
    /* Still warming up when the cut is a large part of what there is, however quiet the rest. */
    if ((int64_t)steady >= rule->min_samples && steady_ns >= (double)rule->min_time_ns &&
        (st->rule->warmup >= 0 || (st->settled && 4 * st->cut <= n)) && st->noise <= rule->max_noise)
        return "noise";
    if ((int64_t)steady >= rule->max_samples || st->s->n == st->s->cap)
        return "max-samples";
    if (now_ns - st->started_ns >= (uint64_t)rule->max_time_ns && (int64_t)steady >= rule->min_samples)
        return "max-time";
    size_t more = n / 4 + 1, left = (size_t)rule->max_samples - steady;
    st->next_check = n + (more < left ? more : left);
    return NULL;
}

bool pk_stop_now(struct pk_stopper *st, uint64_t now_ns)
{
    size_t n = st->s->n - 1;
    if (n < st->next_check && now_ns - st->checked_ns < LOOK_AGAIN_MS * PK_NS_PER_MS && st->s->n < st->s->cap)
        return false;
    st->checked_ns = now_ns;
    st->reason = reason_to_stop(st, n, now_ns);
    return st->reason != NULL;
}
