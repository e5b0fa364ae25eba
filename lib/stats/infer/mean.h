/* Mean: Student's and Welch's tests and intervals of a mean and of a difference of means, and proof of equivalence.
 *
 * Exact when the values are normal, close to it from about five values on whatever their shape, as long as they are
 * independent: a value is what one process says (its median, in logs), never one iteration. Sources: Student (1908),
 * Welch (1947), Schuirmann (1987). Fewer values than a function asks for give NaN for all but `estimate`; values that do
 * not vary give an interval of one point, and p is then 1 when the estimate is exactly 0, else 0. */
#pragma once

#include "stats/stats.h"

struct pk_mean_test {
    double estimate; /* of the mean, or of mean(b) - mean(a) */
    double se, df;
    double t, p; /* against 0; p is two-sided */
    struct pk_interval ci;
};

/* n >= 2; for paired data v are the differences. */
struct pk_mean_test pk_test_mean(const double *v, size_t n, double level);
/* Two values at least on each side. */
struct pk_mean_test pk_test_welch(const double *a, size_t na, const double *b, size_t nb, double level);

/* The same from an estimate, its standard error and degrees of freedom (NaN for none). */
struct pk_mean_test pk_test_estimate(double estimate, double se, double df, double level);

/* One-sided p of "the true value is at most `null`". */
double pk_test_above(const struct pk_mean_test *t, double null);

/* Two one-sided tests: p of "the true value is outside (lo, hi)"; below alpha it is proved within, at that risk. */
double pk_test_within(const struct pk_mean_test *t, double lo, double hi);

/* An interval that stays valid however often one looks and whenever one stops (Gaussian mixture over the effect in units
 * of the standard deviation; prior precision 1). Infinite for few values, NaN under two. Wider than Student's: by 80 %
 * for 8 values, by 63 % for 20. */
struct pk_interval pk_anytime_interval(const double *v, size_t n, double level);
