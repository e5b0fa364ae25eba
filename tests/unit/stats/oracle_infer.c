/* Oracle of the rest of lib/stats: distributions, tests, trends, changes, power. */
#include "oracle.h"

#include "stats/dist.h"
#include "stats/infer.h"
#include "stats/rank.h"
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
    say(pk_fisher_above((size_t)v[0], (size_t)v[1], (size_t)v[2], (size_t)v[3]));
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

/* --- many questions --- */

static void holm(double *v, size_t n)
{
    pk_adjust_holm(v, n, v);
    say_all(v, n);
}

/* --- series, power --- */

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

static void effect_found(double *v, size_t n) /* n, sd, alpha, power */
{
    say(pk_effect_found((size_t)v[0], v[1], v[2], v[3]));
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
    {"normal_below", normal_below},
    {"normal_quantile", normal_quantile},
    {"beta_inc", beta_inc},
    {"binomial", binomial},
    {"fisher", fisher},
    {"mean", mean},
    {"welch_test", welch_test},
    {"within", within},
    {"anytime", anytime},
    {"mann_whitney", mann_whitney},
    {"holm", holm},
    {"theil_sen", theil_sen},
    {"mann_kendall", mann_kendall},
    {"changes", changes},
    {"effect_found", effect_found},
    {"pairs", pairs},
    {NULL, NULL},
};
