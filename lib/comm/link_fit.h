/* Link fit: what an all-reduce costs, from measured ones: o and w of o + b/w.
 *
 * Disturbances only add time, so of each size the fastest counts; only sizes within the window of candidate buckets do, because
 * libraries change their algorithm with the size and a single o and w do not hold for all. Theil and Sen's line through them. */
#pragma once

#include "stats/stats.h"

struct pk_timed_reduce {
    double bytes, ns;
};

struct pk_link_fit {
    size_t sizes; /* different ones in the window */
    double launch_ns,
        link_bytes_per_s; /* o, w: NaN with fewer than three sizes, or when time does not grow with them */
    struct pk_interval launch_ci, link_ci; /* 95 %; infinite where the slope's interval reaches 0 */
};

/* v is sorted in place, by bytes and then by ns. */
struct pk_link_fit pk_fit_link(struct pk_timed_reduce *v, size_t n, double least_bytes, double most_bytes);
