/* Trend: tests whether values rise or fall along a series, whatever their distribution, and finds change points. */
#pragma once

#include "stats/stats.h"

/* Theil (1950) and Sen (1968): slope = median of the slopes between any two points with different x; intercept =
 * median(y) - slope * median(x); ci of the slope by Sen's normal approximation with ties, as scipy.stats.theilslopes. All
 * NaN when no two x differ. Takes room for n^2 / 2 slopes and gives it back. */
struct pk_trend {
    double slope, intercept;
    struct pk_interval ci;
};
struct pk_trend pk_theil_sen(const double *x, const double *y, size_t n, double level);

/* Mann (1945) and Kendall: s = rising less falling pairs; p two-sided, normal with corrections for continuity and ties,
 * good from about eight values on; z 0 and p 1 when s is 0. */
struct pk_kendall {
    double s, z, p;
};
struct pk_kendall pk_mann_kendall(const double *v, size_t n);

/* The segmentation of v into normal pieces of their own mean and variance that minimises -2 ln likelihood + penalty per
 * change, exactly, by PELT (Killick, Fearnhead and Eckley 2012); pieces have at least `least` (>= 2) values. starts[0..n)
 * gets the first index of each piece, 0 first; returns how many (0 for n = 0). A piece is never taken to be more than a
 * thousand times steadier than the whole. */
size_t pk_find_changes(const double *v, size_t n, double penalty, size_t least, size_t *starts);
