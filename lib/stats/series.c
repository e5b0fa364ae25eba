/* Series: where the steady part of a series of samples begins, which of them are outliers, and how far they drift.
 *
 * For the beginning MSER (White 1997) proposes a cut, and a comparison of medians confirms it. Outliers are found by a Hampel filter: far
 * from the median of their neighbourhood. Drift is Theil and Sen's slope of block medians; Mann and Kendall say how surprising it is. */
#include "stats/stats.h"

#include "stats/trend.h"

#include <math.h>
#include <string.h>

enum { BATCH = 5, FEWEST_BATCHES = 20 };

/* The k in 0..n/2 that minimises the squared standard error of the mean of m[k..n). */
static size_t mser(const double *m, size_t n)
{
    double best = INFINITY, mean = 0, squares = 0; /* of m[k..n), updated from the end (Welford) */
    size_t best_k = 0;
    for (size_t k = n; k-- > 0;) {
        double kept = (double)(n - k), d = m[k] - mean;
        mean += d / kept;
        squares += d * (m[k] - mean);
        if (k <= n / 2 && squares / (kept * kept) <= best) {
            best = squares / (kept * kept);
            best_k = k;
        }
    }
    return best_k;
}

/* A trend looks like correlation without end; this much is granted to noise. */
static const double most_correlation = 0.75;

/* True when the first `cut` samples differ from the rest by more than chance would do: three standard errors
 * of their median, with the spread and the autocorrelation of the rest. Without this, MSER cuts a part of
 * every other series, because noise or a spike suggests it. logs is overwritten. */
static bool confirmed(double *logs, size_t n, size_t cut)
{
    double *kept = logs + cut;
    size_t n_kept = n - cut;
    double r = pk_autocorrelation(kept, n_kept);
    r = r < 0 ? 0 : r > most_correlation ? most_correlation : r;
    double inflation = (1 + r) / (1 - r);
    double early = pk_median_of(logs, cut), late = pk_median_of(kept, n_kept);
    for (size_t i = 0; i < n_kept; i++)
        kept[i] = fabs(kept[i] - late);
    double sd = 1.4826 * pk_median_of(kept, n_kept);
    return fabs(early - late) > 3 * 1.2533 * sd * sqrt(inflation / (double)cut);
}

struct pk_warmup pk_find_warmup(const double *v, size_t n, double *scratch)
{
    const struct pk_warmup none = {.cut = 0, .settled = true};
    size_t batch = n / FEWEST_BATCHES;
    batch = batch < 1 ? 1 : batch > BATCH ? BATCH : batch;
    size_t batches = n / batch;
    pk_log_or_copy(scratch, v, n);
    for (size_t b = 0; b < batches; b++) {
        double sum = 0;
        for (size_t i = 0; i < batch; i++)
            sum += scratch[b * batch + i];
        scratch[b] = sum / (double)batch;
    }
    size_t k = mser(scratch, batches);
    if (!k)
        return none;
    pk_log_or_copy(scratch, v, n);
    if (!confirmed(scratch, n, k * batch))
        return none;
    return (struct pk_warmup){.cut = k * batch, .settled = k < batches / 2};
}

enum { REACH = 5, WINDOW = 2 * REACH + 1 };

/* In a series quantised to a few values most deviations are 0: what is off by less than this is no outlier.
 */
static const double least_deviation = 1e-3;

size_t pk_find_outliers(const double *v, size_t n, bool *flags, double *scratch)
{
    size_t found = 0;
    double window[WINDOW], deviations[WINDOW], *logs = scratch;
    pk_log_or_copy(logs, v, n);
    for (size_t i = 0; i < n; i++) {
        const size_t from = i > REACH ? i - REACH : 0, to = i + REACH + 1 < n ? i + REACH + 1 : n;
        memcpy(window, logs + from, (to - from) * sizeof *logs);
        const double mad = pk_mad(window, to - from, deviations);
        const double off = fabs(logs[i] - pk_median_of(window, to - from));
        flags[i] = off > 5 * mad && off > least_deviation;
        found += flags[i];
    }
    return found;
}

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

struct pk_drift pk_find_drift(const double *v, size_t n, double *scratch)
{
    const struct pk_drift unknown = {NAN, NAN};
    if (n < FEWEST_BLOCKS)
        return unknown;
    /* twice as long as the samples remember each other, and long enough that there are at most MOST_BLOCKS */
    const double r = detrended_autocorrelation(v, n, scratch), memory = r > 0 ? (1 + r) / (1 - r) : 1;
    const size_t wanted = (size_t)ceil(memory < (double)n ? 2 * memory : (double)n);
    const size_t least = (n + MOST_BLOCKS - 1) / MOST_BLOCKS, length = wanted > least ? wanted : least;
    const size_t blocks = n / length;
    if (blocks < FEWEST_BLOCKS)
        return unknown;
    double medians[MOST_BLOCKS], at[MOST_BLOCKS];
    for (size_t b = 0; b < blocks; b++) {
        medians[b] = pk_median_copy(v + b * length, length, scratch);
        at[b] = (double)b;
    }
    const double median = pk_median_copy(v, n, scratch);
    double trend = pk_theil_sen(at, medians, blocks, 0.95).slope * (double)(blocks - 1);
    return (struct pk_drift){.ratio = median != 0 ? trend / median : NAN,
                             .p = pk_mann_kendall(medians, blocks).p};
}
