/* Dist: distributions that tests and intervals rest on. Relative errors are below 1e-12 for parameters up to a few
 * thousand.
 *
 * Student's t and the binomial go through the regularised incomplete beta function. Arguments out of range are bugs of the
 * caller (an assertion), NaN gives NaN. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* I_x(a, b) for a, b > 0; y = 1 - x is given too, because x may be near 1. *rest is 1 - I_x, without cancellation. */
double pk_beta_inc(double x, double y, double a, double b, double *rest);
double pk_log_beta(double a, double b); /* ln B(a, b) */

double pk_normal_below(double z);    /* P(Z < z) */
double pk_normal_quantile(double p); /* 0 < p < 1 */

/* Student t, df > 0, not necessarily whole. */
double pk_t_quantile(double p, double df);  /* 0 < p < 1 */
double pk_t_two_sided(double t, double df); /* P(|T| > |t|) */
double pk_t_above(double t, double df);     /* P(T > t) */

double pk_binomial_below(size_t k, size_t n, double p); /* P(B <= k) */

/* Fisher's exact test of the table {{a, b}, {c, d}}, one-sided: the chance of a or more, given the margins. 1 when a margin is empty. */
double pk_fisher_above(size_t a, size_t b, size_t c, size_t d);
