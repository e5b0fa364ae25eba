/* Intervals: of a median by order statistics, of a median over invocations. */
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

struct pk_interval pk_invocations_interval(const double *medians, size_t n, double level)
{
    bool positive = true;
    for (size_t i = 0; i < n; i++)
        positive = positive && medians[i] > 0;
    return n < 3 ? no_interval : student(medians, n, positive, level);
}

/* The largest l in 0..n with P(B < l) <= tail for B binomial(n, 1/2): the l-th smallest and the l-th largest value enclose
 * the median with probability 1 - 2 tail or more. 0: n is too small. */
static size_t lower_rank(size_t n, double tail)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t l = lo + (hi - lo + 1) / 2;
        if (pk_binomial_below(l - 1, n, 0.5) <= tail)
            lo = l;
        else
            hi = l - 1;
    }
    return lo;
}

struct pk_interval pk_median_interval(double *v, size_t n, double level)
{
    if (n < 6)
        return no_interval;
    double r = pk_autocorrelation(v, n);
    double stretch = r > 0 ? sqrt((1 + r) / (1 - r)) : 1;
    double median = pk_median_of(v, n);
    size_t k = lower_rank(n, (1 - level) / 2);
    if (!k)
        return no_interval;
    return (struct pk_interval){median - stretch * (median - v[k - 1]),
                                median + stretch * (v[n - k] - median)};
}
