/* Baseline decision: cases against a baseline measured in other sessions, and figures without noise. */
#include "stats/verdict/verdict.h"

#include "base/err.h"
#include "stats/dist.h"
#include "stats/infer.h"
#include "stats/stats.h"
#include "stats/verdict/parts.h"

#include <math.h>
#include <string.h>

struct baseline_row {
    struct pk_scale scale;
    struct pk_mean_test test, mixture; /* of the processes that do not lie apart, and of all */
    struct pk_modes modes;
};

/* --- processes that lie apart from the others of their run ------------------------------------------------------- */

static size_t processes(const struct pk_run_processes *runs, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += runs[i].n;
    return sum;
}

/* Logs of the processes, each less the median of the others of its run (of two the better one): what a session adds to all of its processes
 * sets none apart. The only process of a run says nothing. */
static void centred(const struct pk_run_processes *runs, size_t n, int worse, double *v, double *scratch)
{
    for (size_t i = 0; i < n; v += runs[i++].n) {
        const size_t m = runs[i].n, middle = worse > 0 ? (m - 2) / 2 : (m - 1) / 2; /* of m - 1 others */
        memcpy(scratch, runs[i].figure, m * sizeof *scratch);
        pk_sort(scratch, m);
        for (size_t k = 0; k < m; k++) {
            const double f = runs[i].figure[k];
            v[k] = m > 1 ? log(f / scratch[middle + (f <= scratch[middle])]) : 0;
        }
    }
}

/* The mean log of the processes of each run except those of one class. A run that has no others keeps its mean. */
static void clean_means(const struct pk_run_processes *runs, size_t n, const signed char *class, int but,
                        double *mean)
{
    for (size_t i = 0; i < n; class += runs[i++].n) {
        double sum = 0;
        size_t clean = 0;
        for (size_t k = 0; k < runs[i].n; k++)
            if (class[k] != but) {
                sum += log(runs[i].figure[k]);
                clean++;
            }
        if (clean && clean < runs[i].n)
            mean[i] = sum / (double)clean;
    }
}

/* Finds them, and takes them out of the means of the runs, unless the sides as a whole lie apart. */
static void leave_out(const struct pk_baseline_series *s, const struct pk_rule *rule, struct baseline_row *r,
                      double *base, double *new_, struct pk_decision *o)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const size_t n_base = processes(s->base_of, s->n_base), n_new = processes(s->new_of, s->n_new),
                 n = n_base + n_new;
    double *v = pk_new_n(&a, double, 2 * n + 1);
    signed char *class = pk_new_n(&a, signed char, n + 1);
    centred(s->base_of, s->n_base, r->scale.worse, v, v + n);
    centred(s->new_of, s->n_new, r->scale.worse, v + n_base, v + n);
    r->modes = pk_find_modes(v, n_base, n_new, r->scale.min_effect, r->scale.worse, rule, class);
    if (!r->modes.apart || pk_modes_shifted(&r->modes))
        return;
    for (size_t i = 0; i < n; i++)
        o->disturbed += class[i] == r->modes.apart;
    clean_means(s->base_of, s->n_base, class, r->modes.apart, base);
    clean_means(s->new_of, s->n_new, class + n_base, r->modes.apart, new_);
}

/* --- a case --------------------------------------------------------------------------------------------------------- */

/* From five new runs on, they say themselves how much they spread; fewer are granted the baseline's spread. */
static struct pk_mean_test test_runs(const double *base, const double *new_,
                                     const struct pk_baseline_series *s, const struct pk_rule *rule)
{
    const struct pk_moments b = pk_moments(base, s->n_base), w = pk_moments(new_, s->n_new);
    const double se = sqrt(b.variance * (1 / (double)s->n_base + 1 / (double)s->n_new)),
                 level = 1 - rule->alpha;
    return s->n_new >= rule->fewest_runs
               ? pk_test_welch(base, s->n_base, new_, s->n_new, level)
               : pk_test_estimate(w.mean - b.mean, se, s->n_base < 2 ? NAN : (double)(s->n_base - 1), level);
}

/* scratch: room for all figures of the case */
static void decide_case(const struct pk_baseline_series *s, size_t cases, const struct pk_rule *rule,
                        double *scratch, struct baseline_row *r, struct pk_decision *o)
{
    pk_assert(s->n_new >= 1);
    double *base = scratch, *new_ = base + s->n_base;
    if (s->n_base)
        memcpy(base, s->base, s->n_base * sizeof *base);
    memcpy(new_, s->new_, s->n_new * sizeof *new_);
    const bool logs = pk_log_or_copy(base, base, s->n_base + s->n_new);
    *o = (struct pk_decision){.pairs = s->n_base, .mde = NAN, .slow_found = NAN};
    *r = (struct baseline_row){.scale = pk_scale_for(logs, s->higher_is_better, s->min_effect, s->min_change,
                                                     s->base, s->n_base, rule)};
    r->mixture = test_runs(base, new_, s, rule);
    if (logs && s->base_of && s->new_of && s->n_base >= rule->fewest_runs)
        leave_out(s, rule, r, base, new_, o);
    r->test = test_runs(base, new_, s, rule);
    pk_report_effect(o, &r->test, &r->scale, sqrt(2 * pk_moments(base, s->n_base).variance));
    pk_report_modes(o, &r->modes, &r->scale);
    o->slow_centre = o->other_centre = 0; /* only their distance is known: runs have levels of their own */
    o->p = r->test.p;
    double df = r->test.df, least = rule->strict ? r->scale.min_effect : 0;
    if (!(df > 0))
        return;
    double luck = pk_t_quantile(rule->mde_power, df) * r->test.se;
    double found = least + luck + pk_t_quantile(1 - rule->alpha / (double)cases / 2, df) * r->test.se;
    o->mde = pk_as_share(fmax(found, r->scale.min_effect + luck), &r->scale);
}

/* Of the new side having no more slow processes: two-sided, as that of the means, both of which must be significant. */
static double p_two_sided(const struct pk_modes *m)
{
    return pk_modes_p(m, 1) * 2 / pk_slow_share;
}

/* p_slow, p_mixture: adjusted; of slow processes, and of the means of all processes. */
static void set_verdict(const struct pk_baseline_series *s, size_t cases, const struct pk_rule *rule,
                        const struct baseline_row *r, double p_slow, double p_mixture, struct pk_decision *o)
{
    enum pk_reason refusal = PK_REASON_PROVED;
    if (s->unstable)
        refusal = PK_REASON_ENVIRONMENT;
    else if (s->n_base < rule->fewest_runs || s->n_base < 2)
        refusal = PK_REASON_FEW_RUNS;
    else if (!(r->scale.min_effect > 0))
        refusal = PK_REASON_NEEDS_ABSOLUTE;
    int side = r->test.estimate * r->scale.worse > 0 ? 1 : -1;
    const double mixture = r->mixture.estimate * r->scale.worse;
    const bool changed =
        p_mixture < rule->alpha; /* whatever the others do: runs differ in how many are slow */
    const struct pk_test_results f = {
        .refusal = refusal,
        .significant = o->p_adjusted < rule->alpha && changed && side * mixture > 0 ? side : 0,
        .more_slow = changed && mixture >= r->scale.min_effect && p_slow < rule->alpha,
        .otherwise = PK_REASON_NOISE,
        .modes = &r->modes};
    pk_settle(o, &f, &r->test, &r->scale, rule->alpha / (double)cases, rule);
    if (o->verdict == PK_SLOWER_IN_SOME) {
        o->p = p_two_sided(&r->modes);
        o->p_adjusted = p_slow;
    }
    if (r->modes.apart) /* runs are counted, and more of them need not decide it */
        o->needed = 0;
}

void pk_decide_stored(const struct pk_baseline_series *s, size_t n, const struct pk_rule *rule,
                      struct pk_decision *out)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct baseline_row *rows = pk_new_n(&a, struct baseline_row, n + 1);
    double *p = pk_new_n(&a, double, 3 * n + 1), *p_slow = p + n, *p_mixture = p_slow + n;
    size_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = s[i].n_base + s[i].n_new > most ? s[i].n_base + s[i].n_new : most;
    double *scratch = pk_new_n(&a, double, most + 1);
    for (size_t i = 0; i < n; i++) {
        decide_case(&s[i], n, rule, scratch, &rows[i], &out[i]);
        p[i] = pk_p_shown(&rows[i].test, &rows[i].scale, rule);
        p_mixture[i] = pk_p_shown(&rows[i].mixture, &rows[i].scale, rule);
        p_slow[i] = !rows[i].modes.apart               ? NAN
                    : pk_modes_shifted(&rows[i].modes) ? 1
                                                       : p_two_sided(&rows[i].modes);
    }
    for (int i = 0; i < 3; i++)
        pk_adjust_holm(p + (size_t)i * n, n, p + (size_t)i * n);
    for (size_t i = 0; i < n; i++) {
        out[i].p_adjusted = p[i];
        set_verdict(&s[i], n, rule, &rows[i], p_slow[i], p_mixture[i], &out[i]);
    }
}

static struct pk_interval range(const double *v, size_t n)
{
    struct pk_interval r = {v[0], v[0]};
    for (size_t i = 1; i < n; i++)
        r = (struct pk_interval){fmin(r.lo, v[i]), fmax(r.hi, v[i])};
    return r;
}

struct pk_decision pk_decide_exact(const struct pk_baseline_series *s, double tolerance)
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
