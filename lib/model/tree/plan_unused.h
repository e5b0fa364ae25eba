/* Plan, unused: what to say of rules that never fire, and of a plan that matches nothing. Parts of pk_patch_plan_check. */
#pragma once

#include "model/tree/match.h"

/* "rule 6, *.attention.output.dense", with its line when it comes from a file. In the arena. */
const char *pk_plan_rule_text(const struct pk_patch_plan *p, uint32_t rule, struct pk_arena *a);

/* Warns about every rule that no target of `m`, the plan's match, came from. */
void pk_plan_warn_unused(const struct pk_patch_plan *p, const struct pk_tree *t, const struct pk_match *m,
                         pk_warn_fn *warn, void *user, struct pk_arena *a);

/* The error of a plan without targets. */
enum pk_code pk_plan_matches_nothing(const struct pk_patch_plan *p, const struct pk_tree *t,
                                     struct pk_arena *a, struct pk_err *err);
