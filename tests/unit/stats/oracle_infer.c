/* Oracle of the rest of lib/stats: distributions, tests, trends, changes, components, power. */
#include "oracle.h"

#include "stats/changes.h"
#include "stats/components.h"
#include "stats/dist/dist.h"
#include "stats/infer/adjust.h"
#include "stats/infer/bootstrap.h"
#include "stats/infer/mean.h"
#include "stats/infer/power.h"
#include "stats/infer/rank.h"
#include "stats/trend.h"

static void say_all(const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        say(v[i]);
}

static void say_interval(struct pk_interval i)
{
    say(i.lo);
    say(i.hi);
}

/* --- distributions --- */

static void t_quantile(double *v, size_t n)
{
    say(pk_t_quantile(v[0], v[1]));
}

static void t_two_sided(double *v, size_t n)
{
    say(pk_t_two_sided(v[0], v[1]));
}

static void t_above(double *v, size_t n)
{
    say(pk_t_above(v[0], v[1]));
}

static void t_noncentral(double *v, size_t n)
{
    say(pk_t_noncentral_below(v[0], v[1], v[2]));
}

static void normal_below(double *v, size_t n)
{
    say(pk_normal_below(v[0]));
}

static void normal_quantile(double *v, size_t n)
{
    say(pk_normal_quantile(v[0]));
}

static void beta_inc(double *v, size_t n)
{
    double rest;
    say(pk_beta_inc(v[0], 1 - v[0], v[1], v[2], &rest));
    say(rest);
}

static void binomial(double *v, size_t n)
{
    say(pk_binomial_below((size_t)v[0], (size_t)v[1], v[2]));
}

static void fisher(double *v, size_t n)
{
    say(pk_fisher_exact((size_t)v[0], (size_t)v[1], (size_t)v[2], (size_t)v[3]));
}

/* --- means and ranks: the length of the first set, then both --- */

static void say_mean(struct pk_mean_test t)
{
    const double all[] = {t.estimate, t.se, t.df, t.t, t.p};
    say_all(all, 5);
    say_interval(t.ci);
}

static void mean(double *v, size_t n) /* level, values */
{
    say_mean(pk_test_mean(v + 1, n - 1, v[0]));
}

static void welch_test(double *v, size_t n)
{
    size_t m = (size_t)v[0];
    say_mean(pk_test_welch(v + 1, m, v + 1 + m, n - 1 - m, 0.95));
}

static void pooled_test(double *v, size_t n)
{
    size_t m = (size_t)v[0];
    say_mean(pk_test_pooled(v + 1, m, v + 1 + m, n - 1 - m, 0.95));
}

static void within(double *v, size_t n) /* lo, hi, values: p of both sides, p of "at most hi" */
{
    struct pk_mean_test t = pk_test_mean(v + 2, n - 2, 0.95);
    say(pk_test_within(&t, v[0], v[1]));
    say(pk_test_above(&t, v[1]));
}

static void anytime(double *v, size_t n)
{
    say_interval(pk_anytime_interval(v + 1, n - 1, v[0]));
}

static void say_rank(struct pk_rank_test r)
{
    const double all[] = {r.statistic, r.p, r.p_less, r.p_greater, r.exact};
    say_all(all, 5);
}

static void mann_whitney(double *v, size_t n)
{
    size_t m = (size_t)v[0];
    say_rank(pk_mann_whitney(v + 1, m, v + 1 + m, n - 1 - m));
}

static void signed_rank(double *v, size_t n)
{
    say_rank(pk_signed_rank(v, n));
}

static void say_shift(struct pk_shift s)
{
    say(s.estimate);
    say_interval(s.ci);
    say(s.achieved);
}

static void shift_paired(double *v, size_t n) /* level, values */
{
    say_shift(pk_shift_paired(v + 1, n - 1, v[0]));
}

static void shift_between(double *v, size_t n) /* level, length, values */
{
    size_t m = (size_t)v[1];
    say_shift(pk_shift_between(v + 2, m, v + 2 + m, n - 2 - m, v[0]));
}

/* --- many questions, resampling --- */

static void holm(double *v, size_t n)
{
    pk_adjust_holm(v, n, v);
    say_all(v, n);
}

static void bh(double *v, size_t n)
{
    pk_adjust_bh(v, n, v);
    say_all(v, n);
}

static void say_bootstrap(struct pk_bootstrap b)
{
    say(b.estimate);
    say(b.se);
    say_interval(b.ci);
}

/* The 64-bit generator that the vectors were made with. */
static size_t draw_lcg(void *state, size_t n)
{
    uint64_t *s = state;
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (size_t)((*s >> 33) % n);
}

static void bootstrap_lcg(double *v, size_t n) /* seed, resamples, 1 for the median, values */
{
    uint64_t seed = (uint64_t)v[0];
    say_bootstrap(pk_bootstrap_drawn(v + 3, n - 3, v[2] != 0 ? pk_statistic_median : pk_statistic_mean,
                                     (size_t)v[1], draw_lcg, &seed, 0.95));
}

struct odometer {
    size_t digits[8], width, at;
};

/* Every ordered resample once: counts through all of them, the last digit fastest. */
static size_t draw_next(void *state, size_t n)
{
    struct odometer *o = state;
    size_t digit = o->digits[o->at++];
    if (o->at < o->width)
        return digit;
    o->at = 0;
    for (size_t i = o->width; i-- > 0 && ++o->digits[i] == n;)
        o->digits[i] = 0;
    return digit;
}

static void bootstrap_all(double *v, size_t n) /* resamples, 1 for the median, values */
{
    struct odometer o = {.width = n - 2};
    say_bootstrap(pk_bootstrap_drawn(v + 2, n - 2, v[1] != 0 ? pk_statistic_median : pk_statistic_mean,
                                     (size_t)v[0], draw_next, &o, 0.95));
}

static void bootstrap(double *v, size_t n) /* seed, resamples, values */
{
    say_bootstrap(pk_bootstrap(v + 2, n - 2, pk_statistic_mean, (size_t)v[1], (uint64_t)v[0], 0.95));
}

/* --- series, components, power --- */

static void theil_sen(double *v, size_t n) /* x, y */
{
    struct pk_trend t = pk_theil_sen(v, v + n / 2, n / 2, 0.95);
    say(t.slope);
    say(t.intercept);
    say_interval(t.ci);
}

static void mann_kendall(double *v, size_t n)
{
    struct pk_kendall k = pk_mann_kendall(v, n);
    const double all[] = {k.s, k.z, k.p};
    say_all(all, 3);
}

static void changes(double *v, size_t n) /* penalty, least, values */
{
    static size_t starts[MOST];
    size_t found = pk_find_changes(v + 2, n - 2, v[0], (size_t)v[1], starts);
    for (size_t i = 0; i < found; i++)
        say((double)starts[i]);
}

static void shape(double *v, size_t n)
{
    struct pk_shape_found s = pk_find_shape(v, n);
    const double all[] = {s.shape, (double)s.steady_from, s.change};
    say_all(all, 3);
}

static void components(double *v, size_t n) /* groups, their sizes, values */
{
    size_t groups = (size_t)v[0], counts[64];
    for (size_t g = 0; g < groups; g++)
        counts[g] = (size_t)v[1 + g];
    struct pk_components c = pk_variance_components(v + 1 + groups, counts, groups, 0.95);
    const double all[] = {c.mean, c.ms_between, c.ms_within, c.between, c.within, c.icc, c.se};
    say_all(all, 7);
    say_interval(c.ci);
}

static void design(double *v, size_t n) /* between, within, rho, m or launch */
{
    double effect = pk_design_effect(v[0], v[1], v[2], v[3]);
    say(effect);
    say(pk_pooled_false_alarm(effect, 0.05));
    say(pk_iterations_worth(v[0], v[1], v[2], v[3]));
}

static void power_paired(double *v, size_t n) /* n, sd, effect, alpha */
{
    say(pk_power_paired((size_t)v[0], v[1], v[2], v[3]));
}

static void mde(double *v, size_t n) /* n, sd, alpha, power: exact, quick */
{
    say(pk_mde_exact((size_t)v[0], v[1], v[2], v[3]));
    say(pk_mde_quick((size_t)v[0], v[1], v[2], v[3]));
}

static void pairs(double *v, size_t n) /* sd, effect, alpha, power: to detect, to prove */
{
    say((double)pk_pairs_to_detect(v[0], v[1], v[2], v[3]));
    say((double)pk_pairs_to_prove(v[0], v[1], v[2], v[3]));
}

const struct question infer_questions[] = {
    {"t_quantile", t_quantile},
    {"t_two_sided", t_two_sided},
    {"t_above", t_above},
    {"t_noncentral", t_noncentral},
    {"normal_below", normal_below},
    {"normal_quantile", normal_quantile},
    {"beta_inc", beta_inc},
    {"binomial", binomial},
    {"fisher", fisher},
    {"mean", mean},
    {"welch_test", welch_test},
    {"pooled_test", pooled_test},
    {"within", within},
    {"anytime", anytime},
    {"mann_whitney", mann_whitney},
    {"signed_rank", signed_rank},
    {"shift_paired", shift_paired},
    {"shift_between", shift_between},
    {"holm", holm},
    {"bh", bh},
    {"bootstrap_lcg", bootstrap_lcg},
    {"bootstrap_all", bootstrap_all},
    {"bootstrap", bootstrap},
    {"theil_sen", theil_sen},
    {"mann_kendall", mann_kendall},
    {"changes", changes},
    {"shape", shape},
    {"components", components},
    {"design", design},
    {"power_paired", power_paired},
    {"mde", mde},
    {"pairs", pairs},
    {NULL, NULL},
};
