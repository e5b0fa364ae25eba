/* Live: a case between setup and teardown. Inner part of measure.c. */
#pragma once

#include "bench/measure/measure.h"

typedef enum pk_code pk_live_fn(struct pk_ctx *ctx, void *user, struct pk_err *err);

/* Sets the case c up, m's or a check point of it, calls body, tears it down. Teardown follows a failed setup or body too. Memory that
 * teardown left is given back to the pool, and is an error of its own unless there was one before. */
enum pk_code pk_live_case(const struct pk_measure *m, const struct pk_case *c, pk_live_fn *body, void *user,
                          struct pk_err *err) PK_MUST_CHECK;
