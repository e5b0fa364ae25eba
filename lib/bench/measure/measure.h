/* Measure: one case, one invocation, one pass -> one slice. Runs inside a worker; knows nothing of stores or pipes.
 *
 * Order: check points; setup; first iteration (phase first); check; the choice of how often repeatable regions are repeated
 * (repeat.h), then K, repetitions per sample (regions shorter than 20 us in all are repeated); samples until a stop
 * rule holds; teardown. All arrays are made before the first sample. Between samples: reset, emptying the caches of a cold device, resolving marks, the stop rule, and
 * every 10 ms the disturbance source.
 *
 * Stopping (the reason is the note "stop"): "noise" when at least min_samples and min_time have passed and the interval of the
 * median of every region, inflated for autocorrelation, is within max_noise; "max-time" when max_time has passed since the first
 * sample and min_samples steady ones exist; "max-samples"; "profile".
 * Warm-up: with warmup < 0 it is found in the samples (stats: MSER-5) and cut; else that many samples are. Outliers, drift and
 * disturbances are notes and phases; no sample is dropped.
 *
 * A captured variant (probe.h) is captured after its first iteration on a device with graphs; the check compares what a replay left.
 *
 * With stop.profile = N nothing is checked or repeated: after the first iteration (of a captured variant: after one replay) N more are
 * taken between the begin and the end of a profiler's range (pk_device_profiler); they are the steady samples.
 *
 * In a memory pass one iteration more is written down, allocation by allocation (steps.h).
 *
 * In a counter pass the samples are counted as well (steps.h): their times come with them and are no timings, because reading
 * counters costs.
 *
 * Notes (values are JSON): stop, reps, calibration_runs, those that the probe made (pk_ctx_note), graph ("captured", when replays were measured), check ("passed", or why
 * not), and over the steady samples' times (all regions together) warmup_cut, warmup_rule ("mser5" or "fixed"), noise (relative half-width when it stopped, the widest
 * region's), outliers, outlier_ordinals (the first 32), drift, drift_p, autocorrelation, disturbed (samples),
 * disturbed_kept (true: most samples were disturbed, so that none was set aside), of repeatable regions unit_overhead_ns (subtracted
 * for each repetition), region_reps ({"match": 512}), near_overhead (the regions that take no longer than that), class:
 *   flat       steady from the first sample
 *   warmup     the first samples were slower and are cut
 *   slowdown   it got slower by more than 0.5 %: possible thermal throttling
 *   no-steady  no steady state was reached */
#pragma once

#include "bench/measure/stop.h"
#include "counter/source.h"
#include "wire/slice.h"

/* True when something outside disturbed this process since the last call. NULL = never. */
typedef bool pk_disturbed_fn(void *user);

struct pk_measure {
    const struct pk_case *c;
    struct pk_device *dev;
    struct pk_comm *comm; /* of the ranks that measure it together (comm/comm.h); NULL = this process alone */
    enum pk_pass pass;
    int invocation;
    bool check;
    uint64_t seed;
    const struct pk_source_plan *counters; /* of a counter pass; NULL = none */
    const struct pk_counter_env *counter_env;
    struct pk_startup_times started;
    double unit_overhead_ns; /* pk_unit_overhead_ns of this process (repeat.h) */
    struct pk_stop stop;
    pk_disturbed_fn *disturbed;
    void *disturbed_user;
};

/* Ranks agree on everything that affects the result: repetitions, when to stop, what was warm-up, whether it failed. When that is no
 * longer possible, m->comm is broken, the slice says why, and this process must end. The call itself never fails: errors are the slice's
 * status and message (oom, failed). The slice lives in `a`. After a failed check there are no series. */
void pk_measure_case(const struct pk_measure *m, struct pk_arena *a, struct pk_slice *out);
