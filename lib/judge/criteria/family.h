/* Family: comparisons of the entries of a suite as one, whose rows share the risk of a false alarm. */
#pragma once

#include "judge/criteria/threshold.h"

struct pk_compare_part {
    const char *name;               /* of the entry */
    const struct pk_comparison *of; /* not judged; a row's base_runs and new_runs are set */
    const struct pk_threshold
        *thresholds; /* of its rows; they come before those of all (pk_thresholds_ask) */
    size_t n_thresholds;
    double min_effect; /* of its rows; 0 = the rule's */
    bool refused;      /* its rows are shown and not judged */
};

struct pk_compare_family {
    const struct pk_compare_part *v;
    size_t n;
    const struct pk_threshold *thresholds; /* of the rows of all */
    size_t n_thresholds;
    bool typed; /* they are stronger than a part's min_effect */
    struct pk_rule rule;
    double level; /* of intervals */
};

/* All rows, judged and sorted. Each threshold that fits none of the rows it is for is added to `wrong`. */
void pk_compare_judge_family(const struct pk_compare_family *f, struct pk_arena *a, struct pk_comparison *out,
                             struct pk_errs *wrong);
