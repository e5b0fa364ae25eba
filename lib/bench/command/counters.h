/* Counters: what the counter passes of a command counted, in v_counter as the counts of an experiment are. */
#pragma once

#include "counter/select.h"
#include "store/store.h"

/* A row per event and metric of the command's own case (region "iteration": one run of the command), after record/counters.h. Time is
 * wall_ns. Reads the store only. */
enum pk_code pk_command_counters(struct pk_store *s, int64_t run_id, const struct pk_counters *counters,
                                 struct pk_err *err) PK_MUST_CHECK;
