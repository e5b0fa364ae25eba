/* Rank: a test that uses only the order of the values, so it is robust against outliers.
 *
 * p is exact, ties included: the distribution of the sum of mid-ranks over all splits of the ranks at hand, counted by
 * dynamic programming, while there are at most PK_RANK_EXACT values in all; beyond, the normal approximation with
 * corrections for ties and continuity, as R's wilcox.test. The smallest two-sided p is 2 / C(2n, n) for two sets of n
 * (0.0079 for 5).
 *
 * Memory is taken and given back inside: not for timed regions. */
#pragma once

#include "stats/stats.h"

enum { PK_RANK_EXACT = 60 };

struct pk_rank_test {
    double statistic;
    double p;         /* two-sided: as far from the mean or farther */
    double p_less;    /* that b comes out as low when nothing differs */
    double p_greater; /* as high */
    bool exact;
};

/* Mann and Whitney (1947): statistic = how often a value of b exceeds one of a, ties counting one half; divided by na *
 * nb it is the probability of superiority. All NaN when a side is empty. */
struct pk_rank_test pk_mann_whitney(const double *a, size_t na, const double *b, size_t nb);
