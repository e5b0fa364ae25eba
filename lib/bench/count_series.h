/* Count series: what a source read around samples, as series of a slice. */
#pragma once

#include "counter/source.h"
#include "wire/slice.h"
#include "json/json.h"

/* The counts of one place: a region, or the whole iteration. */
struct pk_counts {
    const struct pk_source_plan *plan;
    const char *where;                  /* the region's name, or "iteration" */
    int64_t reps;                       /* repetitions of the work in a sample */
    const int64_t *ordinals;            /* [n] */
    const struct pk_reading *const *at; /* [n][plan->n] */
    size_t n;
};

/* Adds to a slice, which may have times, a series for each event and place: metric WHERE.EVENT, source "counter". A place where an event
 * was never counted has none of it. Returns the note "counters" (steps.h), new. */
json_t *pk_counts_add(const struct pk_counts *places, size_t n_places, const struct pk_source_plan *plan,
                      struct pk_arena *a, struct pk_slice *out);
