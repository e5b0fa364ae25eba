/* Gate cases: the cases that both sides of a gate of an experiment have. */
#pragma once

#include "bench/plan/plan.h"
#include "judge/gate/gate_samples.h"

struct pk_gate_plan {
    const char *option;   /* "a" */
    const char *settings; /* "dtype=bf16 variant=flash", which its cases have; NULL = it is a build */
    struct pk_plan *plan;
};

/* Leaves the cases in both plans that both sides have, partners at the same place, and adds them to the samples. *warning: a sentence when some
 * were left out, else NULL. PK_E_USAGE when a side says one value of what the other has several of; PK_E_NOT_COMPARABLE when no case is left. */
enum pk_code pk_gate_match_cases(const struct pk_gate_plan side[PK_SIDES], struct pk_gate_samples *l,
                                 size_t part, const char **warning, struct pk_err *err) PK_MUST_CHECK;

/* Whether matched cases are the same on both sides: what differs between them is noise. */
bool pk_gate_same_cases(const struct pk_gate_plan side[PK_SIDES], struct pk_arena *a);
