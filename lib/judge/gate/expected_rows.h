/* Expected rows: the rows that a gate of an experiment will have, from its descriptor and plan: metrics and thresholds that match none
 * of them are refused before anything is measured. The metrics of a command are known after it has run, and are checked then (gate.h). */
#pragma once

#include "bench/plan/plan.h"
#include "judge/criteria/criteria.h"
#include "judge/gate/gate_samples.h"

/* Sets all but `place` and the thresholds of *out. Case i of the plan, which is that of either side, is the samples' case first + i. *what is
 * borrowed. */
void pk_expected_of_plan(const struct pk_plan *plan, const struct pk_gate_samples *l, size_t first,
                         const struct pk_compare_options *what, struct pk_arena *a,
                         struct pk_expected_rows *out);
