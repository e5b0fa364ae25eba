/* Warm-up: where the steady part of a series begins. MSER (White 1997) proposes a cut, a comparison of
 * medians confirms it. */
#include "stats/stats.h"

#include "stats/parts.h"

#include <math.h>

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
