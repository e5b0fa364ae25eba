/* Intervals: of a median by order statistics, of a median over invocations, of a ratio of two sets of invocations. */
#include "stats/stats.h"

#include "base/err.h"
#include "stats/dist.h"
#include "stats/infer.h"

#include <math.h>

static const struct pk_interval no_interval = {NAN, NAN};

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

struct pk_ratio pk_ratio_of_medians(struct pk_median base, struct pk_median new_)
{
    return (struct pk_ratio){.ratio = new_.median / base.median,
                             .ci = {new_.ci.lo / base.ci.hi, new_.ci.hi / base.ci.lo},
                             .p = NAN,
                             .df = NAN};
}

int pk_ratio_side(struct pk_interval ci)
{
    return ci.lo > 1 ? 1 : ci.hi < 1 ? -1 : 0;
}

const char *pk_speedup_words(struct pk_interval ci)
{
    static const char *const words[] = {"slower", "not told apart", "faster"};
    return isnan(ci.lo) || isnan(ci.hi) ? NULL : words[1 + pk_ratio_side(ci)];
}

/* Student on the logs where all are positive. It is the interval of a mean, so it is kept where it may stand for that of the median:
 * around the median, and no farther beyond the smallest and the largest value than these are from each other. */
static struct pk_interval approximate(const double *sorted, size_t n, double level)
{
    const double min = sorted[0], max = sorted[n - 1], median = pk_quantile(sorted, n, 0.5);
    struct pk_interval ci, most;
    if (min > 0) {
        const struct logs l = log_mean(sorted, NULL, n);
        ci = from_logs(l.first, l.mean, l.variance, (double)(n - 1), level).ci;
        most = (struct pk_interval){min * (min / max), max * (max / min)};
    } else {
        ci = pk_test_mean(sorted, n, level).ci;
        most = (struct pk_interval){min - (max - min), max + (max - min)};
    }
    return (struct pk_interval){fmin(fmax(ci.lo, most.lo), median), fmax(fmin(ci.hi, most.hi), median)};
}

struct pk_interval pk_invocations_interval(double *figures, size_t n, double level)
{
    if (n < 3)
        return no_interval;
    pk_sort(figures, n);
    const size_t k = lower_rank(n, (1 - level) / 2);
    return k ? (struct pk_interval){figures[k - 1], figures[n - k]} : approximate(figures, n, level);
}

size_t pk_invocations_rank(size_t n, double level)
{
    return lower_rank(n, (1 - level) / 2);
}

double pk_invocations_level(size_t n, double level)
{
    const size_t k = pk_invocations_rank(n, level);
    return k ? 1 - 2 * pk_binomial_below(k - 1, n, 0.5) : NAN;
}
