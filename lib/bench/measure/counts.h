/* Counts: what one source counted in the samples of a counter pass. Inner part of measure.c.
 *
 * Places are the regions that occur, then the whole iteration. A source that cannot be read at marks, or a captured variant, whose
 * replays meet none, has the iteration alone. A count is that of all repetitions of a sample, as its times are. */
#pragma once

#include "bench/measure/stop.h"
#include "counter/source.h"
#include "wire/slice.h"

struct pk_counts {
    const struct pk_source_plan *plan;
    void *handle;
    struct pk_watcher watcher;
    struct pk_around around;
    bool regions;
    const struct pk_sampler *s;
    struct pk_reading *v; /* [cap][places][plan->n]; sample 0, the first iteration, is not counted */
};

/* Opens the plan. Nothing is counted before pk_counts_attach. */
enum pk_code pk_counts_open(struct pk_counts *c, const struct pk_counter_env *env,
                            const struct pk_source_plan *plan, struct pk_device *dev, struct pk_arena *a,
                            struct pk_err *err) PK_MUST_CHECK;
/* The samples that s takes from now on are counted. Room is made for as many as s has room for. */
void pk_counts_attach(struct pk_counts *c, struct pk_sampler *s, struct pk_arena *a);
void pk_counts_close(struct pk_counts *c);

/* Adds metrics REGION.EVENT and iteration.EVENT, source "counter", with the steady samples' counts to a slice of the sampler's times,
 * and the note "counters": {"source": ..., "passes": N, "events": {EVENT: {"native", "quality", "note", "modes", "absent", "why", "scaled_from"}}}:
 * `absent` samples have no count, for the reason `why`; scaled_from is the least share of the time that was counted, where that is below 1. */
struct pk_notes;
void pk_counts_pack(const struct pk_counts *c, const struct pk_stopper *st, struct pk_notes *notes,
                    struct pk_arena *a, struct pk_slice *out);
