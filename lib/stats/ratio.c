/* Ratio: how much larger one set of invocation medians is than another, with an interval that knows processes
 * differ. */
#include "stats/stats.h"

#include "base/assert.h"

#include <math.h>

struct logs {
    double mean, variance; /* of ln v; variance of the mean, NaN for one value */
};

/* ln of v, or of v / over. */
static double log_at(const double *v, const double *over, size_t i)
{
    return log(over ? v[i] / over[i] : v[i]);
}

static struct logs log_mean(const double *v, const double *over, size_t n)
{
    pk_assert(n > 0);
    double first = log_at(v, over, 0), sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += log_at(v, over, i) - first;
    double mean = first + sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        double d = log_at(v, over, i) - mean;
        squares += d * d;
    }
    return (struct logs){mean, n > 1 ? squares / (double)(n - 1) / (double)n : NAN};
}

/* exp(d) with a Student interval; without variance it is exact, without df there is none. */
static struct pk_ratio from_logs(double d, double variance, double df, double level)
{
    struct pk_ratio r = {.ratio = exp(d), .ci = {NAN, NAN}, .p = NAN, .df = df};
    if (isnan(variance) || isnan(df))
        return r;
    double se = sqrt(variance), half = pk_t_quantile(0.5 + level / 2, df) * se;
    r.ci = (struct pk_interval){exp(d - half), exp(d + half)};
    r.p = se > 0 ? pk_t_two_sided(d / se, df) : d == 0;
    return r;
}

struct pk_ratio pk_ratio_welch(const double *base, size_t nb, const double *new_, size_t nn, double level)
{
    struct logs b = log_mean(base, NULL, nb), w = log_mean(new_, NULL, nn);
    double variance = b.variance + w.variance;
    double df = NAN;
    if (variance > 0)
        df = variance * variance /
             (b.variance * b.variance / (double)(nb - 1) + w.variance * w.variance / (double)(nn - 1));
    else if (variance == 0)
        df = (double)(nb + nn - 2);
    return from_logs(w.mean - b.mean, variance, df, level);
}

struct pk_ratio pk_ratio_paired(const double *base, const double *new_, size_t n, double level)
{
    struct logs l = log_mean(new_, base, n);
    return from_logs(l.mean, l.variance, n > 1 ? (double)(n - 1) : NAN, level);
}
