/* Mates: the two sides of one gate, and what it was asked, so that they are judged later as it did. */
#pragma once

#include "judge/criteria/threshold.h"

struct pk_mates {
    struct pk_judging judging; /* before: as runs are judged that are no mates */
    const char *const *metrics;
    size_t n_metrics;
    bool all_metrics;
    struct pk_asked asked;
};

/* Are they? Then they were measured in turns. */
bool pk_compare_mates(const struct pk_run_facts *base, const struct pk_run_facts *new_, struct pk_arena *a,
                      struct pk_mates *out);
