/* Stored: cases against a baseline measured in other sessions, and figures without noise. */
#include "stats/verdict/verdict.h"

#include "base/err.h"
#include "stats/dist.h"
#include "stats/infer.h"
#include "stats/stats.h"
#include "stats/verdict/parts.h"

#include <math.h>
#include <string.h>

struct row {
    struct pk_scale scale;
    struct pk_mean_test test;
    struct pk_modes modes;
};

/* scratch: room for all figures of the case */
static void decide_case(const struct pk_stored *s, size_t cases, const struct pk_rule *rule, double *scratch,
                        struct row *r, struct pk_decision *o)
{
    pk_assert(s->n_new >= 1);
    double *base = scratch, *new_ = base + s->n_base;
    if (s->n_base)
        memcpy(base, s->base, s->n_base * sizeof *base);
    memcpy(new_, s->new_, s->n_new * sizeof *new_);
    const bool logs = pk_log_or_copy(base, base, s->n_base + s->n_new);
    *o = (struct pk_decision){.pairs = s->n_base, .mde = NAN};
    r->scale =
        pk_scale_for(logs, s->higher_is_better, s->min_effect, s->min_change, s->base, s->n_base, rule);
    const struct pk_moments b = pk_moments(base, s->n_base), w = pk_moments(new_, s->n_new);
    const double se = sqrt(b.variance * (1 / (double)s->n_base + 1 / (double)s->n_new)),
                 level = 1 - rule->alpha;
    /* from five new runs on, they say themselves how much they spread; fewer are granted the baseline's spread */
    r->test =
        s->n_new >= rule->fewest_runs
            ? pk_test_welch(base, s->n_base, new_, s->n_new, level)
            : pk_test_estimate(w.mean - b.mean, se, s->n_base < 2 ? NAN : (double)(s->n_base - 1), level);
    pk_report_effect(o, &r->test, &r->scale, sqrt(2 * b.variance));
    o->p = r->test.p;
    double df = r->test.df, least = rule->strict ? r->scale.min_effect : 0;
    if (!(df > 0))
        return;
    double luck = pk_t_quantile(rule->power, df) * r->test.se;
    double found = least + luck + pk_t_quantile(1 - rule->alpha / (double)cases / 2, df) * r->test.se;
    o->mde = pk_as_share(fmax(found, r->scale.min_effect + luck), &r->scale);
}

static void settle(const struct pk_stored *s, size_t cases, const struct pk_rule *rule, const struct row *r,
                   struct pk_decision *o)
{
    enum pk_reason refusal = PK_REASON_PROVED;
    if (s->unstable)
        refusal = PK_REASON_ENVIRONMENT;
    else if (s->n_base < rule->fewest_runs || s->n_base < 2)
        refusal = PK_REASON_FEW_RUNS;
    else if (!(r->scale.min_effect > 0))
        refusal = PK_REASON_NEEDS_ABSOLUTE;
    int side = r->test.estimate * r->scale.worse > 0 ? 1 : -1;
    const struct pk_test_results f = {.refusal = refusal,
                                      .significant = o->p_adjusted < rule->alpha ? side : 0,
                                      .otherwise = PK_REASON_NOISE,
                                      .modes = &r->modes};
    pk_settle(o, &f, &r->test, &r->scale, rule->alpha / (double)cases, rule);
}

void pk_decide_stored(const struct pk_stored *s, size_t n, const struct pk_rule *rule,
                      struct pk_decision *out)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct row *rows = pk_new_n(&a, struct row, n + 1);
    double *p = pk_new_n(&a, double, n + 1);
    size_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = s[i].n_base + s[i].n_new > most ? s[i].n_base + s[i].n_new : most;
    double *scratch = pk_new_n(&a, double, most + 1);
    for (size_t i = 0; i < n; i++) {
        decide_case(&s[i], n, rule, scratch, &rows[i], &out[i]);
        p[i] = pk_p_shown(&rows[i].test, &rows[i].scale, rule);
    }
    pk_adjust_holm(p, n, p);
    for (size_t i = 0; i < n; i++) {
        out[i].p_adjusted = p[i];
        settle(&s[i], n, rule, &rows[i], &out[i]);
    }
}

static struct pk_interval range(const double *v, size_t n)
{
    struct pk_interval r = {v[0], v[0]};
    for (size_t i = 1; i < n; i++)
        r = (struct pk_interval){fmin(r.lo, v[i]), fmax(r.hi, v[i])};
    return r;
}

struct pk_decision pk_decide_exact(const struct pk_stored *s, double tolerance)
{
    pk_assert(s->n_base >= 1 && s->n_new >= 1);
    struct pk_interval b = range(s->base, s->n_base), w = range(s->new_, s->n_new);
    bool ratios = b.lo > 0 && w.lo > 0, exact = b.lo == b.hi && w.lo == w.hi;
    double centre = pk_mean(s->new_, s->n_new), base = pk_mean(s->base, s->n_base);
    double slack = fmax(fabs(base) * tolerance, s->min_change);
    struct pk_decision o = {.absolute = !ratios, .p = NAN, .p_adjusted = NAN, .p_same = NAN, .mde = NAN};
    o.pairs = s->n_base < s->n_new ? s->n_base : s->n_new;
    o.ratio = ratios ? centre / base : centre - base;
    o.ci = ratios ? (struct pk_interval){w.lo / b.hi, w.hi / b.lo}
                  : (struct pk_interval){w.lo - b.hi, w.hi - b.lo};
    o.verdict = PK_UNDECIDED;
    o.reason = PK_REASON_PROVED;
    if (w.lo > b.hi + slack)
        o.verdict = s->higher_is_better ? PK_FASTER : PK_SLOWER;
    else if (w.hi < b.lo - slack)
        o.verdict = s->higher_is_better ? PK_SLOWER : PK_FASTER;
    else if (exact || (w.hi <= b.lo + slack && w.lo >= b.hi - slack))
        o.verdict = PK_SAME;
    else
        o.reason = PK_REASON_INEXACT;
    return o;
}
