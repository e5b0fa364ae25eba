/* Steps: the steps of measure.c other than samples: the check points, and the participants of counter, trace and memory passes. Internal
 * to measure.c.
 *
 * Notes that the passes make:
 *
 * "counters": {"source": ..., "passes": N, "events": {EVENT: {"native", "quality", "note", "modes", "absent", "why", "scaled_from"}}}
 *   `absent` samples have no count, for the reason `why`; scaled_from is the least share of the time that was counted, where that is below 1.
 *
 * "breakdown" (timeline/breakdown_note.h), of the sample whose kernels and gaps took the median of all; each sample is one iteration,
 *   traced.
 *
 * "memory", of one iteration more before the first sample; of a captured variant uncaptured: a replay allocates nothing:
 *   {"whole": true,                                    false: allocations were left out
 *    "start_bytes": N, "allocations": N,
 *    "regions":  [{"region", "bytes", TAG: bytes}],    the highest moment while it was the innermost open region, its
 *                                                    beginning among them where it holds no other; "outside" of all
 *    "timeline": [the same]}                           the highest of each of at most PK_LOG_POINTS stretches of as many allocations
 *   Tags are the pool's (device/pool.h), those of 0 bytes left out.
 *
 * "trace", of the same iterations: when all this happened (timeline/spans.h); of memory the highest moment of each of at most PK_LOG_TRACE_POINTS
 *   stretches, after the first moment and before the last. */
#pragma once

#include "bench/measure/stop.h"
#include "counter/source.h"

/* check.c: the case at a check point ("seq_len=7 d_model=3"): every axis not named as in c. Usage errors for unknown axes and values. */
enum pk_code pk_check_case(const struct pk_case *c, const char *point, struct pk_arena *a,
                           struct pk_case *out, struct pk_err *err) PK_MUST_CHECK;

/* counts.c: counts of one source. Places are the regions that occur, then the whole iteration. A source that cannot be read at marks, or a
 * captured variant, whose replays meet none, has the iteration alone. A count is that of all repetitions of a sample, as its times are;
 * sample 0, the first iteration, is not counted. The slice gets metrics REGION.EVENT and iteration.EVENT, source "counter". */
enum pk_code pk_counts_open(const struct pk_counter_env *env, const struct pk_source_plan *plan,
                            struct pk_device *dev, struct pk_arena *a, const struct pk_observer **out,
                            struct pk_err *err) PK_MUST_CHECK;

/* trace_observer.c: what became of the time, by region, family and kernel. */
enum pk_code pk_trace_observer_open(const struct pk_counter_env *env, struct pk_device *dev,
                                    struct pk_arena *a, const struct pk_observer **out,
                                    struct pk_err *err) PK_MUST_CHECK;

/* allocation_log.c: every allocation of device memory in one iteration: its region, time and tag. */
enum { PK_LOG_POINTS = 32, PK_LOG_TRACE_POINTS = 4096 };
const struct pk_observer *pk_allocation_log_open(struct pk_device *dev, struct pk_arena *a);
