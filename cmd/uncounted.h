/* Uncounted: what --counters asks for and this machine does not count. It is said, kept with the run, and the rest is counted. */
#pragma once

#include "cmd/cmd.h"
#include "counter/select.h"

void pk_uncounted_warn(const struct pk_app *app, const struct pk_counters *c);
/* As the run's setting "not_counted"; nothing when there is nothing. */
enum pk_code pk_uncounted_record(struct pk_store *s, int64_t run_id, const struct pk_counters *c,
                                 struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
