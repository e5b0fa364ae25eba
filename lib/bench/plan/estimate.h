/* Estimate: the minimum time of planned cases, the cases that therefore cannot end in time, and the approximate time of the whole plan.
 *
 * One iteration of a case takes what the newest run on this machine measured of it, else its floor by the usual share of the ceilings.
 * The stop rule makes a slice of it: memory touched for the first time, a first iteration, the choice of repetitions, samples until min_samples and
 * max_time are over, and in the first process the checks. Early stops of cases with little noise are not predicted. */
#pragma once

#include "bench/plan/plan.h"
#include "ops/ceilings/ceilings.h"
#include "store/store.h"

/* Fills floor_ns and least_ns of every case that is not skipped: NaN when top is NULL or has no rates. A region counts once, by itself
 * or by its parts (probe.h). Work of tensor cores is compared with their highest rate, and costs nothing where none is known. */
void pk_case_plan_floors(struct pk_case_plan *plan, const struct pk_ceilings *top);

/* True when the case will be tried and its minimum time applies to this machine: not on the null device, whose clock is simulated, and
 * not for a peer, whose work is not declared. */
bool pk_case_plan_time_known(const struct pk_case_plan *plan, const struct pk_planned_case *p);

/* Skips, with the reason, the cases of which the first iteration and `samples` more do not fit into timeout_ns at floor speed: a
 * worker would be ended without a result. */
void pk_case_plan_leave_out_endless(struct pk_case_plan *plan, int64_t samples, int64_t timeout_ns,
                                    struct pk_arena *a);

struct pk_duration_request {
    const struct pk_case_plan *plan;
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
enum pk_code pk_case_plan_duration(struct pk_store *s, const struct pk_duration_request *r,
                                   struct pk_arena *a, struct pk_duration *out,
                                   struct pk_err *err) PK_MUST_CHECK;
