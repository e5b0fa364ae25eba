/* Gate cases: the cases that both sides of a gate of an experiment have. */
#pragma once

#include "bench/plan/plan.h"
#include "judge/gate/gate_samples.h"

struct pk_gate_plan {
    const char *option;   /* "a" */
    const char *settings; /* "dtype=bf16 variant=flash", which its cases have; NULL = it is a build */
    struct pk_plan *plan;
};

/* Keeps only the cases that both sides have, in the same order in both plans, and adds them to the samples. *warning: a sentence when
 * some were left out, else NULL. PK_E_USAGE when one side sets an axis of which the other has several values; PK_E_NOT_COMPARABLE when
 * no case is left. */
enum pk_code pk_gate_match_cases(const struct pk_gate_plan side[PK_SIDES], struct pk_gate_samples *l,
                                 size_t part, const char **warning, struct pk_err *err) PK_MUST_CHECK;

/* Whether matched cases are the same on both sides, so that differences are noise. */
bool pk_gate_same_cases(const struct pk_gate_plan side[PK_SIDES], struct pk_arena *a);
