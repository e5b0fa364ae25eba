/* Power: what a paired design can see, and how many pairs it takes.
 *
 * sd is the standard deviation of the pairs' differences (about 1.4 times that between processes), effects are in the
 * same unit. Instead of the noncentral t, (t_(1 - alpha/2) + t_power) sd / sqrt(n) is used, which is within 2 % for five
 * pairs or more. For one-sided alpha pass twice it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PK_PAIRS_NEVER SIZE_MAX /* no number of pairs below ten million would do */

/* The smallest effect found with probability `power` (0.8) by n >= 2 pairs, alpha < power < 1. */
double pk_mde_quick(size_t n, double sd, double alpha, double power);

/* Fewest pairs (at least 3) that find `effect`, or that prove equivalence within +-margin at risk alpha when the truth is
 * 0. */
size_t pk_pairs_to_detect(double sd, double effect, double alpha, double power);
size_t pk_pairs_to_prove(double sd, double margin, double alpha, double power);
