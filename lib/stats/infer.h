/* Infer: tests of means, p values of many tests at once, and how many pairs, processes and samples to measure.
 *
 * Student's and Welch's tests and intervals of a mean and of a difference of means, and proof of equivalence, are exact
 * when the values are normal, and close to it from about five values on whatever their shape, as long as they are
 * independent: a value is the figure of one process (its median, in logs), never one iteration. Sources: Student (1908),
 * Welch (1947), Schuirmann (1987). Fewer values than a function needs give NaN for all but `estimate`; values that do
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

/* One-sided p value of the hypothesis that the true value is at most `null`. */
double pk_test_above(const struct pk_mean_test *t, double null);

/* Two one-sided tests: the p value of the hypothesis that the true value is outside (lo, hi). Below alpha it is proved to be inside. */
double pk_test_within(const struct pk_mean_test *t, double lo, double hi);

/* An interval that stays valid if it is computed after every value and measuring stops at any time (Gaussian mixture over the effect in
 * units of the standard deviation; prior precision 1). Infinite for few values, NaN under two. It is wider than Student's by 80 % for 8
 * values and by 63 % for 20. */
struct pk_interval pk_anytime_interval(const double *v, size_t n, double level);

/* --- many tests at once --- */

/* Holm (1979): with alpha, the chance that any true null is rejected is at most alpha, whatever the dependence. out[i]
 * belongs to p[i] and may be the same array; p in [0, 1], in any order, NaN for none, which stays NaN and is not counted.
 * Compare out[i] with alpha itself. */
void pk_adjust_holm(const double *p, size_t n, double *out);

/* --- what a paired design can find, and how many pairs it takes --- */

/* sd is the standard deviation of the pairs' differences (about 1.4 times that between processes), effects are in the
 * same unit. Instead of the noncentral t, (t_(1 - alpha/2) + t_power) sd / sqrt(n) is used, which is within 2 % for five
 * pairs or more. For one-sided alpha pass twice it. */

#define PK_PAIRS_NEVER SIZE_MAX /* no number of pairs below ten million would do */

/* The smallest effect found with probability `power` by n >= 2 pairs, alpha < power < 1. */
double pk_effect_found(size_t n, double sd, double alpha, double power);

/* The smallest number of pairs (at least 3) that finds `effect`, or that proves equivalence within +-margin at risk alpha if the true
 * effect is 0. */
size_t pk_pairs_to_detect(double sd, double effect, double alpha, double power);
size_t pk_pairs_to_prove(double sd, double margin, double alpha, double power);

/* --- what processes and samples add to the noise, and how many of both to measure --- */

/* A process gives a figure, the median of its samples. Its variance over processes has two parts (a random-effects model of two levels,
 * as in Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013):
 *
 *   figure variance = between^2 + factor within^2 / samples
 *
 * factor is 1 where the figure is a mean, and pi / 2 where it is a median of normal samples (Laplace). Samples that are correlated inside
 * a process make `between` larger, which is right: more of them would not help.
 *
 * With costs of process_ns for a process and sample_ns for each of its samples, the samples per process that give the narrowest interval
 * for a given time are sqrt(process_ns / sample_ns * factor within^2 / between^2), whatever the interval. Here whole numbers are
 * searched instead, because with few processes, or without noise between them, that formula does not hold. */
extern const double pk_factor_of_medians; /* pi / 2 */

/* What one process measured: its figure, and the variance of its n samples (not used for n < 2). */
struct pk_process_samples {
    double figure, variance;
    size_t n;
};

/* Standard deviations. within is NaN when no process has two samples; between is then that of the figures. */
struct pk_components {
    double between, within;
    double factor;
};
/* n >= 2 processes. */
struct pk_components pk_variance_components(const struct pk_process_samples *v, size_t n, double factor);

/* The standard deviation of the figures of processes with so many samples. */
double pk_figure_sd(const struct pk_components *c, size_t samples);

struct pk_sample_sizes {
    size_t processes, samples; /* of each process; 1 when within is NaN */
    double ns;                 /* all of it */
};
/* The cheapest that makes the interval of the median of the processes (stats.h) reach at most `wanted` to each side, on average over
 * normal figures: at least six processes, at most max_samples. processes is SIZE_MAX when under ten million do not suffice. */
struct pk_sample_sizes pk_cheapest_sample_sizes(const struct pk_components *c, double process_ns,
                                                double sample_ns, double wanted, double level,
                                                size_t max_samples);
