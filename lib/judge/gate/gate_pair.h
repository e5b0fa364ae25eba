/* Gate pair: the two runs of one gate and its criteria, so that they can be judged later as the gate judged them. */
#pragma once

#include "judge/criteria/criteria.h"
#include "json/json.h"

/* The record of the gate in the settings of its runs. */
struct pk_gate_mark {
    const char *id;   /* of the gate */
    const char *side; /* "base", "new" */
    const char *text; /* of --a or --b */
    struct pk_rule rule;
    struct pk_criteria criteria; /* of its rows */
    struct pk_texts metrics;
    bool all_metrics;
    bool equal; /* both sides are the same thing */
};
json_t *pk_gate_mark_json(const struct pk_gate_mark *m);

struct pk_gate_pair {
    struct pk_judging judging; /* the criteria for runs that are not of one gate */
    const char *const *metrics;
    size_t n_metrics;
    bool all_metrics;
    struct pk_criteria criteria;
};

/* Whether both runs are of one gate: they were measured in turns. */
bool pk_gate_pair_read(const struct pk_run_facts *base, const struct pk_run_facts *new_, struct pk_arena *a,
                       struct pk_gate_pair *out);
