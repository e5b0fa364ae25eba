/* Bucket model: computes the best size of buckets.
 *
 * Gradients of s bytes are produced at g bytes per second; an all-reduce of b bytes takes o + b/w, w the algorithm's bandwidth (bytes of
 * gradient per second, not of the wire). n = s/b equal buckets are a pipeline of two stages, c = b/g and m = o + b/w:
 *   T = c + (n - 1) max(c, m) + m        overhead = T - s/g
 *   m >= c   overhead = b/g + n o + s/w - s/g     least at sqrt(s o g)
 *   m <= c   overhead = o + b/w                   least at the smallest b with m <= c, o / (1/g - 1/w); needs g < w
 * The optimum is the smaller of the two. sqrt(s o w), the formula of the reports, is the case g = w: gradients are produced at the speed
 * of the link.
 *
 * Real tensors differ in size and are not split: pk_buckets_end_ns simulates a plan with the times at which its gradients were ready,
 * and pk_buckets_ideal_ns finds the optimal division into groups of consecutive tensors. */
#pragma once

#include "comm/bucket.h"
#include "stats/stats.h"

struct pk_bucket_rates {
    double gradient_bytes;       /* s, > 0 */
    double produced_bytes_per_s; /* g, > 0 */
    double launch_ns;            /* o, >= 0 */
    double link_bytes_per_s;     /* w, > 0 */
};

enum pk_bucket_regime {
    PK_BUCKET_COMM_BOUND,    /* every bucket waits for the previous one: use fewer, larger ones */
    PK_BUCKET_COMPUTE_BOUND, /* only the last bucket is exposed: use the smallest buckets for which this is so */
};

struct pk_bucket_optimum {
    double bytes; /* between 0 and s */
    enum pk_bucket_regime regime;
    double balance_bytes; /* sqrt(s o g) */
    double hidden_bytes;  /* o / (1/g - 1/w); infinite unless g < w */
    double report_bytes;  /* sqrt(s o w), at most s */
};
struct pk_bucket_optimum pk_bucket_optimum(const struct pk_bucket_rates *r);

/* The end of the last all-reduce. ready_ns: [tensors], in the order of readiness, not decreasing. */
double pk_buckets_end_ns(const struct pk_buckets *b, size_t element_bytes, const double *ready_ns,
                         double launch_ns, double link_bytes_per_s);

/* The earliest possible end for n tensors; *buckets is the number of buckets that this needs. Time n^2, scratch in the arena. */
double pk_buckets_ideal_ns(const size_t *elements, size_t n, size_t element_bytes, const double *ready_ns,
                           double launch_ns, double link_bytes_per_s, struct pk_arena *a, size_t *buckets);

/* The index of the cap (of n_caps caps, in elements) with the earliest end; of equal ones the largest. first: as in pk_buckets_plan. */
size_t pk_buckets_best(const size_t *elements, size_t n, const size_t *caps, size_t n_caps, size_t first,
                       size_t element_bytes, const double *ready_ns, double launch_ns,
                       double link_bytes_per_s, struct pk_arena *a);

/* The cost of an all-reduce, fitted to measured times: o and w of o + b/w, by the Theil-Sen line. Disturbances only add time, so the
 * fastest of each size is used. Only sizes within the window of candidate buckets are used: libraries change their algorithm with the
 * size, so one o and w do not fit all sizes. */
struct pk_timed_reduce {
    double bytes, ns;
};

struct pk_link_fit {
    size_t sizes; /* different sizes in the window */
    double launch_ns,
        link_bytes_per_s; /* o, w: NaN with fewer than three sizes, or when time does not grow with size */
    struct pk_interval launch_ci, link_ci; /* 95 %; infinite where the slope's interval reaches 0 */
};

/* v is sorted in place, by bytes and then by ns. */
struct pk_link_fit pk_fit_link(struct pk_timed_reduce *v, size_t n, double least_bytes, double most_bytes);
