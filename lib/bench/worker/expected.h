/* Expected: a rank that was started with the whole command line knows which cases there are. */
#pragma once

#include "bench/plan.h"
#include "bench/worker/request.h"

/* PK_E_USAGE when the plan lacks the case, which is *c, with what no case of it has. Without a plan (NULL) every case is expected. */
enum pk_code pk_expected_check(const struct pk_plan *p, const struct pk_request *r, const struct pk_case *c,
                               struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
