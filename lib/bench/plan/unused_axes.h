/* Idle: axes that were asked for and that no case of the plan has. */
#pragma once

#include "bench/plan/plan.h"

/* A sentence about "axis=sweep" when the axis applies to no case of the plan, saying where it would; NULL when it is in use. */
const char *pk_plan_idle(const struct pk_plan *plan, const char *assignment, struct pk_arena *a);
