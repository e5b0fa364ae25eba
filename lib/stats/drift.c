/* Drift: a slow trend in a series, by Theil-Sen on block medians, and how surprising it is, by Mann-Kendall.
 */
#include "stats/stats.h"

#include "stats/parts.h"

#include <math.h>
#include <string.h>

enum { MOST_BLOCKS = 30, FEWEST_BLOCKS = 6, MOST_PAIRS = MOST_BLOCKS * (MOST_BLOCKS - 1) / 2 };

/* Lag-1 autocorrelation of what a straight line leaves: a trend itself makes every neighbour alike, and blocks as long
 * as that suggests would hide the trend. */
static double detrended_autocorrelation(const double *v, size_t n, double *residual)
{
    double middle = ((double)n - 1) / 2, mean = pk_mean(v, n), xy = 0, xx = 0;
    for (size_t i = 0; i < n; i++) {
        xy += ((double)i - middle) * (v[i] - mean);
        xx += ((double)i - middle) * ((double)i - middle);
    }
    for (size_t i = 0; i < n; i++)
        residual[i] = v[i] - mean - (xx > 0 ? xy / xx * ((double)i - middle) : 0);
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(residual[i]));
    return largest > 1e-12 * fabs(mean) ? pk_autocorrelation(residual, n) : 0;
}

/* Blocks twice as long as the samples remember each other, and long enough that there are at most
 * MOST_BLOCKS. */
static size_t block_length(const double *v, size_t n, double *scratch)
{
    double r = detrended_autocorrelation(v, n, scratch);
    double memory = r > 0 ? (1 + r) / (1 - r) : 1;
    size_t wanted = (size_t)ceil(memory < (double)n ? 2 * memory : (double)n);
    size_t least = (n + MOST_BLOCKS - 1) / MOST_BLOCKS;
    return wanted > least ? wanted : least;
}

/* Median of all slopes between two blocks. */
static double theil_sen(const double *y, size_t n)
{
    double slopes[MOST_PAIRS];
    size_t pairs = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++)
            slopes[pairs++] = (y[j] - y[i]) / (double)(j - i);
    }
    return pk_median_of(slopes, pairs);
}

/* Sum over groups of equal values of t(t-1)(2t+5); y is sorted. */
static double tie_term(const double *y, size_t n)
{
    double sum = 0, t = 1;
    for (size_t i = 1; i <= n; i++, t++) {
        if (i < n && y[i] == y[i - 1])
            continue;
        sum += t * (t - 1) * (2 * t + 5);
        t = 0;
    }
    return sum;
}

/* Two-sided p, normal approximation with continuity and tie corrections. y is sorted in place. */
static double mann_kendall(double *y, size_t n)
{
    double s = 0, count = (double)n;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++)
            s += (y[j] > y[i]) - (y[j] < y[i]);
    }
    pk_sort(y, n);
    double variance = (count * (count - 1) * (2 * count + 5) - tie_term(y, n)) / 18;
    if (s == 0 || variance <= 0)
        return 1;
    return erfc((fabs(s) - 1) / sqrt(2 * variance));
}

struct pk_drift pk_find_drift(const double *v, size_t n, double *scratch)
{
    const struct pk_drift unknown = {NAN, NAN};
    size_t length = n ? block_length(v, n, scratch) : 1, blocks = n / length;
    if (blocks < FEWEST_BLOCKS)
        return unknown;
    double medians[MOST_BLOCKS];
    for (size_t b = 0; b < blocks; b++) {
        memcpy(scratch, v + b * length, length * sizeof *v);
        medians[b] = pk_median_of(scratch, length);
    }
    memcpy(scratch, v, n * sizeof *v);
    double median = pk_median_of(scratch, n);
    double trend = theil_sen(medians, blocks) * (double)(blocks - 1);
    return (struct pk_drift){.ratio = median != 0 ? trend / median : NAN, .p = mann_kendall(medians, blocks)};
}
