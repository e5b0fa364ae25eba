/* Counters: what the counter pass of a command counted, in v_counter as the counts of an experiment are. */
#pragma once

#include "store/store.h"

/* A row per event of each case of the run with a counter pass (region "iteration": one run of the command), and per metric of those groups
 * (counter/group.h) that follow from what was counted. Reads the store only. */
enum pk_code pk_command_counters(struct pk_store *s, int64_t run_id, struct pk_err *err) PK_MUST_CHECK;
