/* Gate pair: the two runs of one gate and the criteria that it had, so that they are judged later as it judged them. */
#pragma once

#include "judge/criteria/criteria.h"
#include "json/json.h"

/* What a run of a gate records of it, in its settings. */
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
    struct pk_judging judging; /* before: as runs are judged that are not of one gate */
    const char *const *metrics;
    size_t n_metrics;
    bool all_metrics;
    struct pk_criteria criteria;
};

/* Whether both runs are of one gate: they were measured in turns. */
bool pk_gate_pair_read(const struct pk_run_facts *base, const struct pk_run_facts *new_, struct pk_arena *a,
                       struct pk_gate_pair *out);
