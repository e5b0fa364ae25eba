/* Drift: a slow trend in a series, by Theil-Sen on block medians, and how surprising it is, by Mann-Kendall.
 */
#include "stats/stats.h"

#include "stats/parts.h"
#include "stats/trend.h"

#include <math.h>
#include <string.h>

enum { MOST_BLOCKS = 30, FEWEST_BLOCKS = 6 };

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
    double at[MOST_BLOCKS];
    for (size_t b = 0; b < blocks; b++)
        at[b] = (double)b;
    double trend = pk_theil_sen(at, medians, blocks, 0.95).slope * (double)(blocks - 1);
    return (struct pk_drift){.ratio = median != 0 ? trend / median : NAN,
                             .p = pk_mann_kendall(medians, blocks).p};
}
