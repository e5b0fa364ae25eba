/* Adjust: p values of many questions asked at once.
 *
 * out[i] belongs to p[i] and may be the same array; p in [0, 1], in any order, NaN for "no answer", which stays NaN and
 * is not counted. Compare out[i] with alpha itself. */
#pragma once

#include <stddef.h>

/* Holm (1979): with alpha, the chance that any true null is rejected is at most alpha, whatever the dependence. */
void pk_adjust_holm(const double *p, size_t n, double *out);
