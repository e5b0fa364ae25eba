/* Change points of a series with one value per run: where it moves to another level and stays there.
 *
 * Candidates are the pieces that PELT finds in the logs, at least three values long; of these a boundary is kept when the medians beside
 * it differ by the least effect and the exact Mann-Whitney test of the two pieces gives p < 0.001, the least credible boundary being
 * removed first. Where successive values are correlated, n of them count as n (1 - rho) / (1 + rho), rho being the lag-1 correlation of
 * the residuals, and a t test of the medians may show a change point that is too large for that. No random numbers are used, and a single outlier is not a change point. A change point cannot be detected in fewer than PK_CHANGE_POINT_RUNS
 * values, nor before several values follow it. */
#pragma once

#include "base/arena.h"
#include "stats/stats.h"

enum { PK_CHANGE_POINT_RUNS = 14 }; /* 7 against 7 is the first split whose smallest p is below 0.001 */

struct pk_change_point {
    size_t at, until;     /* the first value of the new level, and the one after its last */
    double before, after; /* medians of the two levels */
    double change;        /* after / before - 1; NaN when a level is not positive */
    double p;             /* of the rank test; NaN for exact values, of which every change is one */
};

/* The change points of v[0..n), in time order; how many. min_effect: 0.02. */
size_t pk_find_change_points(const double *v, size_t n, double min_effect, bool exact, struct pk_arena *a,
                             const struct pk_change_point **change_points);

/* The change along a straight line from the first to the last value, relative to their median (Theil and Sen), when there is a trend
 * (Mann and Kendall p < 0.01, and at least min_effect); else 0. */
double pk_find_trend(const double *v, size_t n, double min_effect);
