/* Noise: pairs of equal work, and what a gate could see in theirs. */
#include "stats/verdict/verdict.h"

#include "stats/dist.h"
#include "stats/stats.h"
#include "stats/verdict/parts.h"

#include <math.h>

static const double later = 0.9;          /* of the gates to come, that the advice is meant to hold in */
static const double found = 0.95;         /* of worsenings of `mde` */
static const double least_advised = 0.01; /* layout: see verdict.h */
enum { FEWEST = 4 };

/* Of F(m, n): by halving, over its distribution function, which is an incomplete beta function. */
static double f_quantile(double p, double m, double n)
{
    double lo = 0, hi = 1, rest;
    for (int i = 0; i < 60; i++) {
        double x = (lo + hi) / 2; /* m f / (m f + n) */
        *(pk_beta_inc(x, 1 - x, m / 2, n / 2, &rest) < p ? &lo : &hi) = x;
    }
    return n * lo / (m * (1 - lo));
}

static double log_variance(const double *v, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    double *logs = pk_new_n(&a, double, n + 1);
    pk_log_or_copy(logs, v, n);
    return pk_moments(logs, n).variance;
}

/* Without the disturbed pairs, as a gate; with them where too few would be left. */
static size_t differences(const struct pk_pairs *p, const struct pk_rule *rule, double *d, size_t *left_out)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_scale scale = pk_scale_for(true, false, 0, 0, p->base, p->n, rule);
    const struct pk_processes all = pk_processes_of(p, NULL, &scale, rule, &a);
    const size_t n = pk_clean_differences(&all, 0, p->n, d);
    *left_out = p->n - n;
    if (n >= FEWEST && (double)*left_out <= rule->most_disturbed * (double)p->n)
        return n;
    *left_out = 0;
    for (size_t i = 0; i < p->n; i++)
        d[i] = all.v[p->n + i] - all.v[i];
    return p->n;
}

bool pk_measure_noise(const struct pk_pairs *p, const struct pk_rule *rule, struct pk_pair_noise *out)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    double *d = pk_new_n(&a, double, p->n + 1);
    size_t left_out;
    if (!pk_all_positive(p->base, p->n) || !pk_all_positive(p->new_, p->n))
        return false;
    const size_t n = differences(p, rule, d, &left_out);
    if (n < FEWEST)
        return false;
    const struct pk_mean_test t = pk_test_mean(d, n, 1 - rule->alpha);
    const double sd = sqrt(pk_moments(d, n).variance);
    const size_t gate_pairs = rule->screen_pairs + rule->confirm_pairs;
    const double grows = sqrt(f_quantile(later, (double)gate_pairs - 1, (double)n - 1));
    const double reach = pk_gate_reach(rule->screen_pairs, rule->confirm_pairs, sd, 0, rule);
    const double advised = expm1(reach * grows),
                 unit = pow(10, floor(log10(advised)) - 1); /* upwards, to two digits */
    *out = (struct pk_pair_noise){
        .pairs = p->n,
        .disturbed = left_out,
        .ratio = exp(t.estimate),
        .p = t.p,
        .between = sqrt((log_variance(p->base, p->n) + log_variance(p->new_, p->n)) / 2),
        .sd = sd,
        .floor = expm1(reach),
        .min_effect = fmax(least_advised, advised > 0 ? ceil(advised / unit * (1 - 1e-12)) * unit : 0),
    };
    struct pk_rule sure = *rule;
    sure.power = found;
    out->mde =
        expm1(pk_gate_reach(rule->screen_pairs, rule->confirm_pairs, sd, log1p(out->min_effect), &sure));
    return true;
}
