/* Bucket: the groups of gradients that are averaged together.
 *
 * Gradients come in an order of readiness, the last layer's first, and are put into buckets in that order until the next would make the
 * bucket larger than its cap. They are not divided: one that is larger than the cap is a bucket of its own. Or they are: then the flat array
 * of all gradients is cut into buckets of exactly the cap, the last one smaller, and a gradient may be in several. The first bucket may
 * have a smaller cap, so that the transport starts early. Buckets are started in this order, even if they are filled in another one: all
 * ranks must use the same order. */
#pragma once

#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>

struct pk_bucket {
    size_t first, n; /* tensors, by order of readiness; the first and the last may be in other buckets, too */
    size_t start, elements; /* in the flat array */
};

struct pk_buckets {
    size_t n_tensors, n;
    const struct pk_bucket *v;
    const uint32_t *bucket_of; /* [n_tensors] the first one that a tensor is in */
    size_t oversize;           /* tensors larger than the cap of their bucket; 0 where tensors are divided */
};

/* Caps in elements, >= 1; `first` is that of the first bucket, 0 = the same. In the arena. */
void pk_buckets_plan(const size_t *elements, size_t n, size_t cap, size_t first, struct pk_arena *a,
                     struct pk_buckets *out);
/* The same, with tensors that are divided. */
void pk_buckets_split(const size_t *elements, size_t n, size_t cap, size_t first, struct pk_arena *a,
                      struct pk_buckets *out);

struct pk_bucket_sizes {
    size_t least, most; /* elements; 0 when there is no bucket */
    double mean;
};
struct pk_bucket_sizes pk_buckets_sizes(const struct pk_buckets *b);

/* One backward pass: which gradients are still missing. Allocates nothing after its creation. */
struct pk_bucket_progress {
    const struct pk_buckets *buckets;
    size_t *missing; /* [buckets] gradients */
    size_t next;     /* the first bucket that was not started */
};
void pk_bucket_progress_init(struct pk_bucket_progress *f, const struct pk_buckets *b, struct pk_arena *a);
void pk_bucket_progress_reset(struct pk_bucket_progress *f);
/* Gradient t is ready, once per pass: buckets [*from, *to) may be started now, often none. */
void pk_bucket_progress_ready(struct pk_bucket_progress *f, size_t t, size_t *from, size_t *to);
