/* Rank: tests and shifts that see only the order of the values, so that no outlier pulls them.
 *
 * p is exact, ties included: the distribution of the sum of mid-ranks over all splits (or signs) of the ranks at hand,
 * counted by dynamic programming, while there are at most PK_RANK_EXACT values in all; beyond, the normal approximation
 * with corrections for ties and continuity, as R's wilcox.test. The smallest two-sided p is 2 / C(2n, n) for two sets of
 * n (0.0079 for 5) and 2^(1-n) for n pairs (0.0625 for 5: five pairs can never be significant at 5 %).
 *
 * Memory is taken and given back inside: not for timed regions. A shift looks at all pairs of values: na * nb, or n^2 /
 * 2, doubles. */
#pragma once

#include "stats/stats.h"

enum { PK_RANK_EXACT = 60 };

struct pk_rank_test {
    double statistic;
    double p;         /* two-sided: as far from the mean or farther */
    double p_less;    /* that b, or the differences, come out as low when nothing differs */
    double p_greater; /* as high */
    bool exact;
};

/* Mann and Whitney (1947): statistic = how often a value of b exceeds one of a, ties counting one half; divided by na *
 * nb it is the probability of superiority. All NaN when a side is empty. */
struct pk_rank_test pk_mann_whitney(const double *a, size_t na, const double *b, size_t nb);

/* Wilcoxon (1945) signed ranks of differences d: statistic = sum of the mid-ranks of |d| where d > 0; zeros are left out
 * first. p are 1, statistic 0, when nothing is left. */
struct pk_rank_test pk_signed_rank(const double *d, size_t n);

/* Hodges and Lehmann (1963): median of the means of all pairs of d (each with itself too), or of all differences b - a,
 * with the interval that inverts the rank test without ties. ci is NaN, `achieved` too, when there are too few values for
 * the level (95 %: 6 pairs, 4 a side). estimate NaN when a side is empty. */
struct pk_shift {
    double estimate;
    struct pk_interval ci;
    double achieved; /* coverage of ci, at least level: ranks are whole */
};
struct pk_shift pk_shift_paired(const double *d, size_t n, double level);
struct pk_shift pk_shift_between(const double *a, size_t na, const double *b, size_t nb, double level);
