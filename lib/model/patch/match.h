/* Match: finds the modules of a tree that a plan selects, by two matchers with equal results.
 *
 *   fnmatch   builds each candidate's path and asks fnmatch(3) rule by rule, as the reports' loop does
 *   compiled  the rules as one automaton over interned names: one table look-up a node, no paths
 * Candidates are visited children first (post-order), as the reports' iterator does. Neither allocates. */
#pragma once

#include "model/patch/plan.h"

/* A matched module and the child indices that lead to it. */
struct pk_target {
    const struct pk_node *node;
    uint32_t rule;  /* index into the plan */
    uint32_t depth; /* of step */
    const uint32_t *step;
};

/* The modules that a plan names in a tree. */
struct pk_targets {
    size_t n, cap;
    struct pk_target *v;
    uint32_t *steps; /* of all targets, one after the other: patching reads them in this order */
    size_t n_steps;
};

/* Room for every module of the tree; targets point into it. */
void pk_targets_init(struct pk_targets *m, const struct pk_tree *t, struct pk_arena *a);

void pk_match_fnmatch(const struct pk_patch_plan *p, const struct pk_tree *t, struct pk_targets *out);

/* The automaton of a plan for the paths of a tree, in the arena. Its states are sets of positions of all patterns, made by subset
 * construction for the paths that occur. Its results are those of fnmatch for every pattern that pk_patch_plan_parse accepts. */
struct pk_matcher;
const struct pk_matcher *pk_matcher_compile(const struct pk_patch_plan *p, const struct pk_tree *t,
                                            struct pk_arena *a);
/* The same with at most `states` states. If more were needed, none are made, and matching reads every name. */
const struct pk_matcher *pk_matcher_compile_within(const struct pk_patch_plan *p, const struct pk_tree *t,
                                                   size_t states, struct pk_arena *a);
/* The modules that a plan selects in a tree, with a matcher compiled for this call: for work that is not measured. */
struct pk_targets pk_matched(const struct pk_patch_plan *p, const struct pk_tree *t, struct pk_arena *a);
size_t pk_matcher_states(const struct pk_matcher *m);
/* For a tree with the same paths as the one it was compiled for. */
void pk_match_compiled(const struct pk_matcher *m, const struct pk_tree *t, struct pk_targets *out);
