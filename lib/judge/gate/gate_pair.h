/* Gate pair: the two runs of one gate and the criteria that it had, so that they are judged later as it judged them. */
#pragma once

#include "judge/criteria/criteria.h"

struct pk_gate_pair {
    struct pk_judging judging; /* before: as runs are judged that are not of one gate */
    const char *const *metrics;
    size_t n_metrics;
    bool all_metrics;
    struct pk_criteria criteria;
};

/* Whether both runs are of one gate: they were measured in turns. */
bool pk_gate_pair_read(const struct pk_run_facts *base, const struct pk_run_facts *new_, struct pk_arena *a,
                       struct pk_gate_pair *out);
