/* Changes: where the level or the spread of a series changes lastingly. */
#pragma once

#include "stats/stats.h"

/* The segmentation of v into normal pieces of their own mean and variance that minimises -2 ln likelihood + penalty per
 * change, exactly, by PELT (Killick, Fearnhead and Eckley 2012); pieces have at least `least` (>= 2) values. starts[0..n)
 * gets the first index of each piece, 0 first; returns how many (0 for n = 0). A piece is never taken to be more than a
 * thousand times steadier than the whole. */
size_t pk_find_changes(const double *v, size_t n, double penalty, size_t least, size_t *starts);
