/* Parts: sorting, medians, moments and logs shared by the files of lib/stats. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

void pk_sort(double *v, size_t n); /* ascending; no NaN */

/* Median of v, which is sorted in place. n >= 1. */
double pk_median_of(double *v, size_t n);

/* Exactly v[0] when all are equal, so that their variance is exactly 0. n >= 1. */
double pk_mean(const double *v, size_t n);

struct pk_moments {
    double mean, variance; /* NaN for n = 0; variance NaN for n < 2, exactly 0 when all are equal */
};
struct pk_moments pk_moments(const double *v, size_t n);

/* Degrees of freedom of Welch and Satterthwaite, from the variances of the two means. NaN when a side has fewer than two. */
double pk_welch_df(double va, size_t na, double vb, size_t nb);

/* dst[i] = ln(src[i]) and true, or dst = src and false when not every value is positive. */
bool pk_log_or_copy(double *dst, const double *src, size_t n);
