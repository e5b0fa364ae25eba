/* Duration: about how long a plan will take, from what is known before it begins.
 *
 * One iteration of a case takes what the newest run on this machine measured of it, else its floor by the usual share of the
 * ceilings. The stop rule makes a slice of it: memory touched for the first time, a first iteration, calibration, samples until
 * min_samples and max_time are over, and in the first process the checks. Early stops of quiet cases are not foreseen. */
#pragma once

#include "bench/plan/plan.h"
#include "store/store.h"

struct pk_duration_request {
    const struct pk_plan *plan;
    const struct pk_stop *stop;
    int64_t invocations, budget_ns; /* 0 = no budget */
    bool check;
    const char *machine; /* canonical JSON */
};

struct pk_duration {
    double ns;       /* of the run; NaN when a case is unknown */
    double *case_ns; /* by case of the plan, all processes together; 0 = unknown, or not measured */
    size_t stored, modelled,
        unknown; /* how many cases to measure: by stored times, by their floor, neither */
};

/* Arrays in the arena. PK_E_IO when the store cannot be read. */
enum pk_code pk_plan_duration(struct pk_store *s, const struct pk_duration_request *r, struct pk_arena *a,
                              struct pk_duration *out, struct pk_err *err) PK_MUST_CHECK;
