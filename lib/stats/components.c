/* Components: noise between processes and inside them. */
#include "stats/components.h"

#include "base/arena.h"
#include "stats/dist/dist.h"
#include "stats/infer/mean.h"
#include "stats/parts.h"

#include <math.h>

struct pk_components pk_variance_components(const double *v, const size_t *counts, size_t groups,
                                            double level)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    double *means = pk_new_n(&a, double, groups + 1), k = (double)groups, n = 0, squared = 0, total = 0,
           inside = 0;
    const double *group = v;
    for (size_t g = 0; g < groups; group += counts[g++]) {
        struct pk_moments m = pk_moments(group, counts[g]);
        double count = (double)counts[g];
        means[g] = m.mean;
        n += count;
        squared += count * count;
        total += count * (m.mean - means[0]);
        inside += counts[g] > 1 ? m.variance * (count - 1) : 0;
    }
    double centre = total / n, outside = 0; /* above means[0], as everything */
    for (size_t g = 0; g < groups; g++)
        outside += (double)counts[g] * (means[g] - means[0] - centre) * (means[g] - means[0] - centre);
    struct pk_mean_test mean = pk_test_mean(means, groups, level);
    struct pk_components c = {.mean = mean.estimate, .se = mean.se, .ci = mean.ci};
    c.ms_between = groups > 1 ? outside / (k - 1) : NAN;
    c.ms_within = c.within = n > k ? inside / (n - k) : NAN;
    double off = c.ms_between - c.ms_within, size = (n - squared / n) / (k - 1);
    c.between = off < 0 ? 0 : off / size;
    c.icc = c.between / (c.between + c.within);
    return c;
}

/* How much longer a mean of correlated values is uncertain than one of independent ones. */
static double memory(double rho)
{
    return (1 + rho) / (1 - rho);
}

double pk_design_effect(double between, double within, double rho, double m)
{
    return (m * between + within * memory(rho)) / (between + within);
}

double pk_pooled_false_alarm(double design_effect, double alpha)
{
    return 2 * pk_normal_below(pk_normal_quantile(alpha / 2) / sqrt(design_effect));
}

double pk_iterations_worth(double between, double within, double rho, double launch)
{
    return sqrt(launch * within * memory(rho) / between);
}
