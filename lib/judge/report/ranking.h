/* Ranking: the commands that one run measured in turns, the fastest first, and by how much each other one is slower.
 *
 * Each is compared with the fastest by the wall times of the rounds that both have, as `compare --by command` does it: ratios are geometric
 * means over the rounds, disturbed ones left out. The level of the intervals is raised so that all comparisons of two of the commands hold
 * together with 95 % (Bonferroni): the fastest was not chosen before. Two commands whose interval contains 1 are not told apart. */
#pragma once

#include "judge/criteria/criteria.h"

struct pk_ranked {
    const char *command, *fastest;
    const struct pk_compared *row;
    bool told_apart;
    const char *sentence; /* "B is 1.09 × (1.05–1.13) slower than A" */
};

/* All figures of a run, or of several. Of fewer than two commands none; else one less than there are commands. */
size_t pk_rank(const struct pk_figures *v, size_t n, struct pk_arena *a, struct pk_ranked **ranked);

/* The table "ranking" of a run, if there is one. */
enum pk_code pk_ranking_print(struct pk_store *s, int64_t run_id, struct pk_out *out,
                              struct pk_err *err) PK_MUST_CHECK;
