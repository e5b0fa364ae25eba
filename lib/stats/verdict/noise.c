/* Noise: pairs of equal work, and what a gate could see in theirs. */
#include "stats/verdict/verdict.h"

#include "base/rng.h"
#include "stats/dist.h"
#include "stats/stats.h"
#include "stats/verdict/parts.h"

#include <math.h>

static const double later = 0.9;          /* of the gates to come, that the advice is meant to hold in */
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

/* One simulated gate of a case without an effect: what the screening and the fresh pairs say, in standard deviations of a pair. */
struct simulated_gate {
    double screen, screen_se, fresh, fresh_se; /* means and their standard errors */
};

enum { GATES = 2000 };
struct pk_simulated_gates {
    struct simulated_gate gate[GATES];
};

static struct simulated_gate draw(size_t screened, size_t confirmed, double *v, struct pk_rng *r)
{
    for (size_t i = 0; i < screened + confirmed; i++)
        v[i] = pk_rng_normal(r);
    const struct pk_moments s = pk_moments(v, screened), f = pk_moments(v + screened, confirmed);
    return (struct simulated_gate){s.mean, sqrt(s.variance / (double)screened), f.mean,
                                   sqrt(f.variance / (double)confirmed)};
}

const struct pk_simulated_gates *pk_simulate_gates(const struct pk_rule *rule, struct pk_arena *a)
{
    const size_t n = rule->screen_pairs, m = rule->confirm_pairs;
    struct pk_simulated_gates *gates = pk_new(a, struct pk_simulated_gates);
    double *scratch = pk_new_n(a, double, n + m + 1);
    struct pk_rng r = {1};
    for (size_t i = 0; i < GATES; i++)
        gates->gate[i] = draw(n, m, scratch, &r);
    return gates;
}

/* The smallest worsening that a gate finds with this power, in logs: simulated through both stages. Each simulated gate finds every
 * worsening from some size on. */
static double reach(const struct pk_simulated_gates *gates, double sd, double margin, double power,
                    const struct pk_rule *rule)
{
    const size_t n = rule->screen_pairs, m = rule->confirm_pairs;
    const struct pk_gate_limits t = pk_gate_limits(n, m, rule);
    double from[GATES];
    for (size_t i = 0; i < GATES; i++) {
        const struct simulated_gate *l = &gates->gate[i];
        const double all = ((double)n * l->screen + (double)m * l->fresh) / (double)(n + m),
                     seen = fmax(t.screen * l->screen_se * sd, margin / 2) - l->screen * sd,
                     confirmed = (t.confirm * l->fresh_se - l->fresh) * sd + (rule->strict ? margin : 0);
        from[i] = fmax(fmax(seen, confirmed), margin - all * sd);
    }
    pk_sort(from, GATES);
    return pk_quantile(from, GATES, power);
}

bool pk_measure_noise(const struct pk_pairs *p, const struct pk_rule *rule,
                      const struct pk_simulated_gates *gates, struct pk_pair_noise *out)
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
    const double least = reach(gates, sd, 0, rule->power, rule);
    const double advised = expm1(least * grows),
                 unit = pow(10, floor(log10(advised)) - 1); /* upwards, to two digits */
    *out = (struct pk_pair_noise){
        .pairs = p->n,
        .disturbed = left_out,
        .ratio = exp(t.estimate),
        .p = t.p,
        .between = sqrt((log_variance(p->base, p->n) + log_variance(p->new_, p->n)) / 2),
        .sd = sd,
        .floor = expm1(least),
        .min_effect = fmax(least_advised, advised > 0 ? ceil(advised / unit * (1 - 1e-12)) * unit : 0),
    };
    out->mde = expm1(reach(gates, sd, log1p(out->min_effect), rule->mde_power, rule));
    return true;
}
