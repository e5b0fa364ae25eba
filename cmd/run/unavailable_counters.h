/* Unavailable counters: events of --counters that this machine cannot count. They are reported and recorded; the others are counted. */
#pragma once

#include "cmd/cmd.h"
#include "counter/select.h"

void pk_unavailable_counters_warn(const struct pk_app *app, const struct pk_counters *c);
/* As the run's setting "not_counted"; nothing when there is nothing. */
enum pk_code pk_unavailable_counters_record(struct pk_store *s, int64_t run_id, const struct pk_counters *c,
                                            struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
