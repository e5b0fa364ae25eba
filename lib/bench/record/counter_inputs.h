/* Counter inputs: what the store knows of a run's cases once their passes are over: times, declared work, counts. Inner part of counters.c. */
#pragma once

#include "bench/plan/plan.h"
#include "counter/select.h"
#include "store/store.h"
#include "store/table.h"

/* Of one region of one case, or of its iteration; medians, of one iteration. NaN = not known. */
struct pk_counter_place {
    double
        time_ns; /* of the timing passes; of the iteration, as all but counts, the sum of its outermost regions */
    double fastest_ns, slowest_ns; /* of the processes that were timed */
    int64_t processes;             /* how many those were */
    double flops, bytes, tensor_flops;
    double *pass_ns; /* [plan]: of its counter pass */
    double **count;  /* [plan][event] */
};

/* How an event was counted, over all places of a case. */
struct pk_event_quality {
    double scaled_from; /* 1, or the least share of the time that was counted */
    const char *why;    /* some were not counted, and why; NULL = nobody said */
};

struct pk_counter_inputs {
    struct pk_counter_place *at;       /* [n_places] */
    struct pk_event_quality **quality; /* [plan][event] */
};

struct pk_counter_inputs_run {
    const struct pk_plan *plan;
    const struct pk_counters *counters;
    struct pk_arena *arena;
    size_t n_places; /* the probe's regions, then the iteration */
    struct pk_rows samples, times, quality;
};

enum pk_code pk_counter_inputs_read(struct pk_counter_inputs_run *k, struct pk_store *s, int64_t run_id,
                                    const struct pk_plan *plan, const struct pk_counters *counters,
                                    struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;

/* Nothing but the room for it. In the arena. */
struct pk_counter_inputs pk_counter_inputs_nothing(const struct pk_counters *counters, size_t n_places,
                                                   struct pk_arena *a);

/* Case i of the plan, which is case_id in the store. In the arena. */
struct pk_counter_inputs pk_counter_inputs_case(const struct pk_counter_inputs_run *k, size_t i,
                                                int64_t case_id);
/* "forward", "iteration" */
const char *pk_counter_inputs_name(const struct pk_counter_inputs_run *k, size_t place);
