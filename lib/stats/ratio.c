/* Ratio: how much larger one set of invocation medians is than another, with an interval that knows processes
 * differ. */
#include "stats/stats.h"

#include "base/err.h"
#include "stats/dist/dist.h"
#include "stats/parts.h"

#include <math.h>

struct logs {
    double first, mean,
        variance; /* first value; of ln(v / first): mean, and variance of the mean (NaN for one value) */
};

/* v, or v / over. Taken from the first value, so that equal values have mean and variance exactly 0. */
static double value_at(const double *v, const double *over, size_t i)
{
    return over ? v[i] / over[i] : v[i];
}

static struct logs log_mean(const double *v, const double *over, size_t n)
{
    pk_assert(n > 0);
    double first = value_at(v, over, 0), sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += log(value_at(v, over, i) / first);
    double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        double d = log(value_at(v, over, i) / first) - mean;
        squares += d * d;
    }
    return (struct logs){first, mean, n > 1 ? squares / (double)(n - 1) / (double)n : NAN};
}

/* scale * exp(d) with a Student interval; without variance it is exact, without df there is none. */
static struct pk_ratio from_logs(double scale, double d, double variance, double df, double level)
{
    struct pk_ratio r = {.ratio = scale * exp(d), .ci = {NAN, NAN}, .p = NAN, .df = df};
    if (isnan(variance) || isnan(df))
        return r;
    double se = sqrt(variance), half = pk_t_quantile(0.5 + level / 2, df) * se;
    r.ci = (struct pk_interval){scale * exp(d - half), scale * exp(d + half)};
    r.p = se > 0 ? pk_t_two_sided((log(scale) + d) / se, df) : r.ratio == 1;
    return r;
}

struct pk_ratio pk_ratio_welch(const double *base, size_t nb, const double *new_, size_t nn, double level)
{
    struct logs b = log_mean(base, NULL, nb), w = log_mean(new_, NULL, nn);
    return from_logs(w.first / b.first, w.mean - b.mean, b.variance + w.variance,
                     pk_welch_df(b.variance, nb, w.variance, nn), level);
}

struct pk_ratio pk_ratio_paired(const double *base, const double *new_, size_t n, double level)
{
    struct logs l = log_mean(new_, base, n);
    return from_logs(l.first, l.mean, l.variance, n > 1 ? (double)(n - 1) : NAN, level);
}
