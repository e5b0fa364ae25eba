/* Changes: where the level or the spread of a series changes for good, and what kind of series that makes it. */
#pragma once

#include "stats/stats.h"

/* The segmentation of v into normal pieces of their own mean and variance that minimises -2 ln likelihood + penalty per
 * change, exactly, by PELT (Killick, Fearnhead and Eckley 2012); pieces have at least `least` (>= 2) values. starts[0..n)
 * gets the first index of each piece, 0 first; returns how many (0 for n = 0). A piece is never taken to be more than a
 * thousand times steadier than the whole. */
size_t pk_find_changes(const double *v, size_t n, double penalty, size_t least, size_t *starts);

/* What a process's series did, after Barrett et al. (2017): outliers left out, pieces of the logs (of the values when
 * some are not positive) with penalty 15 ln n and at least 5 samples; pieces whose mean is within 0.5 % of the last one's
 * count as steady. */
enum pk_shape {
    PK_SHAPE_FLAT,     /* steady from the start */
    PK_SHAPE_WARMUP,   /* slower first */
    PK_SHAPE_SLOWDOWN, /* faster first: throttling, until proved otherwise */
    PK_SHAPE_UNSTEADY, /* something else than the end reaches into the last quarter */
};
struct pk_shape_found {
    enum pk_shape shape;
    size_t steady_from; /* first sample of the steady end; n when unsteady */
    /* Last differing piece over the end, minus 1 (difference for values not positive); 0 when flat. */
    double change;
};
struct pk_shape_found pk_find_shape(const double *v, size_t n);
