/* Outliers: a Hampel filter, samples far from the median of their neighbourhood. */
#include "stats/stats.h"

#include "stats/parts.h"

#include <math.h>
#include <string.h>

enum { REACH = 5, WINDOW = 2 * REACH + 1 };

/* In a series quantised to a few values most deviations are 0: what is off by less than this is no outlier.
 */
static const double least_deviation = 1e-3;

static bool is_outlier(const double *logs, size_t n, size_t i)
{
    size_t from = i > REACH ? i - REACH : 0, to = i + REACH + 1 < n ? i + REACH + 1 : n;
    double window[WINDOW], scratch[WINDOW];
    memcpy(window, logs + from, (to - from) * sizeof *logs);
    double mad = pk_mad(window, to - from, scratch);
    double off = fabs(logs[i] - pk_median_of(window, to - from));
    return off > 5 * mad && off > least_deviation;
}

size_t pk_find_outliers(const double *v, size_t n, bool *flags, double *scratch)
{
    size_t found = 0;
    pk_log_or_copy(scratch, v, n);
    for (size_t i = 0; i < n; i++) {
        flags[i] = is_outlier(scratch, n, i);
        found += flags[i];
    }
    return found;
}
