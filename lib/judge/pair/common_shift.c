/* Common shift: whether all times of a comparison changed alike, as they do when the machine changed and not the code. */
#include "judge/pair/pair.h"
#include "stats/stats.h"

#include <math.h>
#include <string.h>

double pk_common_shift(const struct pk_comparison *c, struct pk_arena *a)
{
    enum { FEWEST = 5, DEVIATIONS = 4 }; /* fewer rows change alike by chance */
    const double least = log1p(0.01);
    double *logs = pk_new_n(a, double, c->n + 1), *scratch = pk_new_n(a, double, c->n + 1);
    size_t n = 0, slower = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct pk_compared *row = &c->v[i];
        if (!row->judged || strcmp(row->new_->unit, "ns") != 0 || !isfinite(row->ratio.ratio))
            continue;
        slower += row->ratio.ratio > 1;
        logs[n++] = log(row->ratio.ratio);
    }
    if (n < FEWEST || 10 * (slower > n - slower ? slower : n - slower) <= 8 * n)
        return 1;
    const double deviation = pk_mad(logs, n, scratch), median = pk_summarize(logs, n).median;
    return fabs(median) >= fmax(least, DEVIATIONS * deviation) ? exp(median) : 1;
}
