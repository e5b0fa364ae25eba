/* Ranks: mid-ranks and the exact distributions of their sums. Private to infer. */
#pragma once

#include "base/arena.h"

/* Twice the mid-rank of each of v, so that all are whole; the sum over groups of t equal values of t^3 - t as *ties. */
size_t *pk_double_ranks(const double *v, size_t n, struct pk_arena *a, double *ties);

/* Probability of each sum, 0 .. *last, of the chosen among ranks[0..n): every choice of `choose` of them equally likely. */
double *pk_rank_sums(const size_t *ranks, size_t n, size_t choose, struct pk_arena *a, size_t *last);
