/* Expected rows: the rows that a gate of experiments will have, by their descriptors: metrics and thresholds that fit none of them are
 * refused before anything is measured. What a command reports is known when it has run, and checked then (gate.h). */
#pragma once

#include "bench/plan.h"
#include "judge/criteria/criteria.h"
#include "judge/gate/gate_samples.h"

struct pk_expected_part {
    const char *name;           /* for messages: "selftest" */
    const char *place;          /* likewise, "perf.ini:12: [flash]"; NULL = no suite */
    const struct pk_plan *plan; /* of either side; NULL = what it reports is not known */
    size_t first;               /* case i of the plan is the samples' case first + i */
    struct pk_compare_options what;
    const struct pk_threshold *thresholds; /* of its rows */
    size_t n_thresholds;
};

/* Adds all that is wrong, each as PK_E_USAGE: a metric that a part does not have or that has no direction, a part's threshold that fits none
 * of its rows, and, when all parts are known, one of `all` that fits no row. */
void pk_expected_rows_check(const struct pk_expected_part *parts, size_t n, const struct pk_gate_samples *l,
                            const struct pk_threshold *all, size_t n_all, struct pk_arena *a,
                            struct pk_errs *wrong);
