/* Bootstrap: a percentile interval of any statistic, by resampling (Efron 1979), reproducible.
 *
 * Values must be independent. Honest only from about 20 values on: of 5 values, a nominal 95 % interval leaves the truth
 * out one time in six (tests/unit/stats). For the mean of few values use infer/mean.h. */
#pragma once

#include "stats/stats.h"

/* A statistic of v[0..n), which it may reorder. */
typedef double pk_statistic_fn(double *v, size_t n);
double pk_statistic_mean(double *v, size_t n);
double pk_statistic_median(double *v, size_t n);

struct pk_bootstrap {
    double estimate, se; /* of the values; standard deviation over the resamples */
    struct pk_interval ci;
};

/* `resamples` >= 2 (2000 are enough for 95 %); the same seed gives the same answer on every machine. All NaN for n = 0.
 * Takes room for the resamples and gives it back. */
struct pk_bootstrap pk_bootstrap(const double *v, size_t n, pk_statistic_fn *statistic, size_t resamples,
                                 uint64_t seed, double level);

/* The same with indices from elsewhere: draw(state, n) gives one in 0 .. n-1. */
typedef size_t pk_draw_fn(void *state, size_t n);
struct pk_bootstrap pk_bootstrap_drawn(const double *v, size_t n, pk_statistic_fn *statistic,
                                       size_t resamples, pk_draw_fn *draw, void *state, double level);
