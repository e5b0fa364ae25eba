/* Stats: numbers in, numbers out. No I/O, no allocation beyond the scratch the caller passes: n doubles unless its name
 * says more.
 *
 * Values are finite and below 1e150, whose squares still are; series are in time order. Quantiles are type 7 everywhere
 * (Hyndman and Fan 1996), variances have n-1. Vectors from R and SciPy: tests/unit/stats.
 *
 * Beside it: dist.h distributions, infer.h and rank.h tests of one or two sets, trend.h what a series does over time, verdict/
 * decisions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pk_interval {
    double lo, hi; /* NaN when there is none */
};

struct pk_summary {
    size_t n;
    double median, mean, sd, min, max, cv; /* sd, cv NaN for n < 2; cv = sd / |mean|, NaN for mean 0 */
};

/* v is sorted in place. n >= 1. */
struct pk_summary pk_summarize(double *v, size_t n);

void pk_sort(double *v, size_t n); /* ascending; no NaN */

/* Median of v, which is sorted in place. n >= 1. */
double pk_median_of(double *v, size_t n);
/* The same, with v left as it is. */
double pk_median_copy(const double *v, size_t n, double *scratch);

/* The values that are not NaN, ascending, each with its place in v; returns how many. */
struct pk_indexed_value {
    double v;
    size_t at;
};
size_t pk_sort_indexed(const double *v, size_t n, struct pk_indexed_value *sorted);

/* Exactly v[0] when all are equal, so that their variance is exactly 0. n >= 1. */
double pk_mean(const double *v, size_t n);

struct pk_moments {
    double mean, variance; /* NaN for n = 0; variance NaN for n < 2, exactly 0 when all are equal */
};
struct pk_moments pk_moments(const double *v, size_t n);

/* Degrees of freedom of Welch and Satterthwaite, from the variances of the two means. NaN when a side has fewer than two. */
double pk_welch_df(double va, size_t na, double vb, size_t nb);

bool pk_all_positive(const double *v, size_t n);

/* dst[i] = ln(src[i]) and true, or dst = src and false when not every value is positive. */
bool pk_log_or_copy(double *dst, const double *src, size_t n);

/* Type-7 quantile of sorted v; p in [0, 1]. */
double pk_quantile(const double *sorted, size_t n, double p);

/* Tails: quantiles of the samples of one process, from which rows can be made as from medians: "forward_ns:p99". A tail estimates, without
 * bias in the median whatever the distribution (type 8 of Hyndman and Fan 1996), the value that a share p of the samples does not exceed, so
 * that processes with different numbers of samples can be compared. It needs so many samples that one is expected beyond it. */
enum pk_tail { PK_P90, PK_P99, PK_TAILS };
struct pk_tail_kind {
    const char *name; /* "p99" */
    double p;
    size_t samples; /* that it needs at least */
};
extern const struct pk_tail_kind pk_tail_kinds[PK_TAILS];

/* Of n values in ascending order; NaN when they are too few. */
double pk_tail_quantile(const double *sorted, size_t n, enum pk_tail t);

/* "forward_ns:p99": true, with PK_P99 and the length of "forward_ns". */
bool pk_tail_of_metric(const char *metric, enum pk_tail *t, size_t *length);

/* 1.482602218505602 (1 / the normal's third quartile) * median absolute deviation; scratch holds n. */
double pk_mad(const double *v, size_t n, double *scratch);

/* Order-statistic interval of the median (binomial ranks), half-width stretched by sqrt((1+r)/(1-r)) for lag-1
 * autocorrelation r > 0. v is sorted in place after r was taken from its time order. NaN under six values. */
struct pk_interval pk_median_interval(double *v, size_t n, double level);

/* Confidence interval of the median of the processes that a machine makes, from the figures of n independent ones, which are sorted in
 * place. Where n is large enough for `level` (six for 0.95), the ends are two of the figures (binomial ranks): the interval contains the
 * median of any distribution with at least `level`, exactly with pk_invocations_level. Below that it is approximate: Student on the
 * logarithms (on the figures when not all are positive), widened to contain the median of the figures, and reaching beyond the smallest
 * and largest figure by at most their ratio (their difference). NaN under three. */
struct pk_interval pk_invocations_interval(double *figures, size_t n, double level);

/* Its ends are the k-th smallest and the k-th largest figure; 0 where it is approximate, or where there is none. */
size_t pk_invocations_rank(size_t n, double level);

/* The exact coverage of that interval; NaN where it is approximate, or where there is none. */
double pk_invocations_level(size_t n, double level);

double pk_autocorrelation(const double *v, size_t n); /* lag 1, 0 for n < 3 or no variance */

/* Warm-up found in a series: how many leading samples to cut. MSER-5 (White 1997) on logs (on the values when some are not
 * positive), at most half; `settled` is false when the cut hit that half. Under 100 samples the batches are smaller, so that
 * there are 20. A cut is made only when the median of what it takes is more than three standard errors off the median of
 * what it leaves: a lone spike is an outlier, not a warm-up. */
struct pk_warmup {
    size_t cut;
    bool settled;
};
struct pk_warmup pk_find_warmup(const double *v, size_t n, double *scratch);

/* Outliers by a Hampel filter (window 11, 5 MAD, and at least 0.1 % off) on logs: flags[i] set; returns how many. */
size_t pk_find_outliers(const double *v, size_t n, bool *flags, double *scratch);

/* Drift of a series: Theil-Sen slope of block medians over its length relative to its median, and Mann-Kendall p. A block
 * is twice as long as the samples remember each other, the trend apart; at most 30 blocks; both NaN when there are fewer
 * than six. */
struct pk_drift {
    double ratio; /* (last - first along the trend) / median */
    double p;
};
struct pk_drift pk_find_drift(const double *v, size_t n, double *scratch);

/* Least squares y = slope * x + intercept. Intervals at 95 %, NaN under three points; r2 NaN when y does not vary; all
 * NaN when x does not. */
struct pk_fit {
    size_t n;
    double slope, intercept, r2;
    struct pk_interval slope_ci, intercept_ci;
};
struct pk_fit pk_fit_line(const double *x, const double *y, size_t n);
/* y = coef * x^exponent by least squares on logs: slope = exponent, intercept = ln(coef). NaN unless
 * every x and y is positive. */
struct pk_fit pk_fit_power(const double *x, const double *y, size_t n, double *scratch_2n);

/* Ratio of two sets of invocation medians: exp of the difference of mean logs with a Welch interval; when paired (same
 * invocations, interleaved), of the mean log ratio with a Student interval. Interval, p and df NaN under two per side.
 * All values > 0. */
struct pk_ratio {
    double ratio;
    struct pk_interval ci;
    double p;
    double df;
};
struct pk_ratio pk_ratio_welch(const double *base, size_t nb, const double *new_, size_t nn, double level);
struct pk_ratio pk_ratio_paired(const double *base, const double *new_, size_t n, double level);

/* A median with its interval, and the ratio of two: its ends are new's lower end over base's upper one, and the reverse. It needs no pairs,
 * and is wider than an interval of pairs. p and df NaN. All values > 0. */
struct pk_median {
    double median;
    struct pk_interval ci;
};
struct pk_ratio pk_ratio_of_medians(struct pk_median base, struct pk_median new_);

/* 1: the whole interval of a ratio is above 1; -1: below; 0: neither, or there is none. */
int pk_ratio_side(struct pk_interval ci);
/* What that says of a speed-up: "faster", "slower", "not told apart"; NULL without an interval. */
const char *pk_speedup_words(struct pk_interval ci);
