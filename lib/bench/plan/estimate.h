/* Estimate: how long planned cases take at the least, and which therefore cannot end in time. */
#pragma once

#include "bench/plan/plan.h"
#include "ops/ceilings.h"

/* Fills floor_ns and least_ns of every case that is not skipped: NaN when top is NULL or has no rates. A region counts once, by itself
 * or by its parts (probe.h). What tensor cores compute is held against the highest rate of theirs, and costs nothing where none is known. */
void pk_plan_floors(struct pk_plan *plan, const struct pk_ceilings *top);

/* True when the case will be tried and its least time is one of this machine's: not on the null device, whose clock is not ours,
 * and not for a peer, whose work nobody declared. */
bool pk_plan_time_known(const struct pk_plan *plan, const struct pk_planned *p);

/* Skips, with the reason, the cases of which the first iteration and `samples` more do not fit into timeout_ns at floor speed: a
 * worker would be ended without a result. */
void pk_plan_leave_out_endless(struct pk_plan *plan, int64_t samples, int64_t timeout_ns, struct pk_arena *a);
