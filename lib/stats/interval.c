/* Intervals: of a mean, of a quantile by order statistics, of a median over invocations. */
#include "stats/stats.h"

#include "stats/dist/dist.h"
#include "stats/parts.h"

#include <math.h>

static const struct pk_interval no_interval = {NAN, NAN};

/* Student's interval of the mean of v, or, on logs, of its geometric mean. */
static struct pk_interval student(const double *v, size_t n, bool logs, double level)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += logs ? log(v[i] / v[0]) : v[i] - v[0];
    double mean = sum / (double)n; /* from v[0], so that equal values have no variance at all */
    for (size_t i = 0; i < n; i++) {
        double d = (logs ? log(v[i] / v[0]) : v[i] - v[0]) - mean;
        squares += d * d;
    }
    double se = sqrt(squares / (double)(n - 1) / (double)n);
    double half = pk_t_quantile(0.5 + level / 2, (double)(n - 1)) * se;
    if (logs)
        return (struct pk_interval){v[0] * exp(mean - half), v[0] * exp(mean + half)};
    return (struct pk_interval){v[0] + mean - half, v[0] + mean + half};
}

struct pk_interval pk_mean_interval(const double *v, size_t n, double level)
{
    return n < 2 ? no_interval : student(v, n, false, level);
}

struct pk_interval pk_invocations_interval(const double *medians, size_t n, double level)
{
    bool positive = true;
    for (size_t i = 0; i < n; i++)
        positive = positive && medians[i] > 0;
    return n < 3 ? no_interval : student(medians, n, positive, level);
}

/* The largest l in 0..n with P(B < l) <= tail for B binomial(n, p). */
static size_t lower_rank(size_t n, double p, double tail)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t l = lo + (hi - lo + 1) / 2;
        if (pk_binomial_below(l - 1, n, p) <= tail)
            lo = l;
        else
            hi = l - 1;
    }
    return lo;
}

struct pk_ranks pk_quantile_ranks(size_t n, double p, double level)
{
    double tail = (1 - level) / 2;
    size_t lo = lower_rank(n, p, tail), hi = n + 1 - lower_rank(n, 1 - p, tail);
    double outside =
        (lo ? pk_binomial_below(lo - 1, n, p) : 0) + (hi <= n ? pk_binomial_below(n - hi, n, 1 - p) : 0);
    return (struct pk_ranks){lo, hi, 1 - outside};
}

struct pk_interval pk_quantile_interval(const double *sorted, size_t n, double p, double level)
{
    struct pk_ranks r = pk_quantile_ranks(n, p, level);
    return (struct pk_interval){r.lo ? sorted[r.lo - 1] : -INFINITY, r.hi <= n ? sorted[r.hi - 1] : INFINITY};
}

struct pk_interval pk_median_interval(double *v, size_t n, double level)
{
    if (n < 6)
        return no_interval;
    double r = pk_autocorrelation(v, n);
    double stretch = r > 0 ? sqrt((1 + r) / (1 - r)) : 1;
    double median = pk_median_of(v, n);
    size_t k = pk_quantile_ranks(n, 0.5, level).lo;
    if (!k)
        return no_interval;
    return (struct pk_interval){median - stretch * (median - v[k - 1]),
                                median + stretch * (v[n - k] - median)};
}
