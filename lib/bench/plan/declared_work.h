/* Declared work: a planned case as rows for the store: name, declared work, predictions. */
#pragma once

#include "bench/plan/plan.h"
#include "store/store.h"

/* As the probe declares it: a peer's case has the work of the plain reference, variant 0. */
struct pk_case pk_planned_case_of(const struct pk_planned_case *p);

/* The prediction of the plan for a metric; NaN when there is none. A count by definition is also valid for a peer. */
double pk_planned_case_value(const struct pk_planned_case *p, const struct pk_metric *m);

/* One row per region time (work of one iteration) and per predicted metric, of which a peer's case gets the exact ones: counts by
 * definition. In the arena. */
size_t pk_case_declared_work(const struct pk_planned_case *p, int64_t case_id, struct pk_arena *a,
                             struct pk_case_work **out);

/* The name of case i of a plan in the store: the same when it is planned and when a slice of it is recorded. */
struct pk_case_info pk_planned_case_info(const struct pk_case_plan *plan, size_t i, struct pk_arena *a);
