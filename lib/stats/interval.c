/* Intervals: of a mean, of a median by order statistics, of a median over invocations. */
#include "stats/stats.h"

#include "base/assert.h"
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

/* The largest k for which [k-th smallest, k-th largest] of n holds the median with probability `level`; 0 =
 * none. It does with P(k <= B <= n-k) for B binomial(n, 1/2), summed from the middle outwards. */
static size_t median_rank(size_t n, double level)
{
    int sign;
    size_t k = n / 2;
    double total = (double)n, middle = (double)k;
    double p = exp(lgamma_r(total + 1, &sign) - lgamma_r(middle + 1, &sign) -
                   lgamma_r(total - middle + 1, &sign) - total * log(2));
    double covered = n % 2 ? 2 * p : p;
    while (k && covered < level) {
        p *= (double)k / (double)(n - k + 1); /* P(B = k-1) from P(B = k) */
        covered += 2 * p;
        k--;
    }
    return k;
}

struct pk_interval pk_median_interval(double *v, size_t n, double level)
{
    if (n < 6)
        return no_interval;
    double r = pk_autocorrelation(v, n);
    double stretch = r > 0 ? sqrt((1 + r) / (1 - r)) : 1;
    double median = pk_median_of(v, n);
    size_t k = median_rank(n, level);
    if (!k)
        return no_interval;
    return (struct pk_interval){median - stretch * (median - v[k - 1]),
                                median + stretch * (v[n - k] - median)};
}
