/* Bootstrap: the percentile interval of a statistic. */
#include "stats/infer/bootstrap.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/rng.h"
#include "stats/parts.h"

#include <math.h>
#include <string.h>

double pk_statistic_mean(double *v, size_t n)
{
    return pk_mean(v, n);
}

double pk_statistic_median(double *v, size_t n)
{
    return pk_median_of(v, n);
}

struct pk_bootstrap pk_bootstrap_drawn(const double *v, size_t n, pk_statistic_fn *statistic,
                                       size_t resamples, pk_draw_fn *draw, void *state, double level)
{
    pk_assert(resamples >= 2 && level > 0 && level < 1);
    if (!n)
        return (struct pk_bootstrap){NAN, NAN, {NAN, NAN}};
    PK_ARENA_CLEANUP struct pk_arena arena = {0};
    double *sample = pk_new_n(&arena, double, n), *values = pk_new_n(&arena, double, resamples);
    memcpy(sample, v, n * sizeof *v);
    double estimate = statistic(sample, n);
    for (size_t r = 0; r < resamples; r++) {
        for (size_t i = 0; i < n; i++)
            sample[i] = v[draw(state, n)];
        values[r] = statistic(sample, n);
    }
    double se = sqrt(pk_moments(values, resamples).variance);
    pk_sort(values, resamples);
    double tail = (1 - level) / 2;
    return (struct pk_bootstrap){
        estimate, se, {pk_quantile(values, resamples, tail), pk_quantile(values, resamples, 1 - tail)}};
}

static size_t draw_rng(void *state, size_t n)
{
    return (size_t)pk_rng_below(state, n);
}

struct pk_bootstrap pk_bootstrap(const double *v, size_t n, pk_statistic_fn *statistic, size_t resamples,
                                 uint64_t seed, double level)
{
    struct pk_rng rng = {seed};
    return pk_bootstrap_drawn(v, n, statistic, resamples, draw_rng, &rng, level);
}
