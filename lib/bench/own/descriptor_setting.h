/* Descriptor setting: descriptors in a store. A run of an own experiment has its descriptor as the setting `descriptor`, so that `show`, `compare` and
 * `report` print it as `run` did, without the program. */
#pragma once

#include "bench/own/own.h"
#include "store/store.h"

/* The experiment of this name as the run has it: built in, or described by the setting of the run. NULL = neither; the built-in tables
 * show its cases. In the arena. */
const struct pk_probe *pk_run_probe(struct pk_store *s, int64_t run_id, const char *experiment,
                                    struct pk_arena *a);

/* Records the descriptor with a run of its experiment; nothing for one that is built in. */
enum pk_code pk_own_record(struct pk_store *s, int64_t run_id, const struct pk_probe *probe,
                           struct pk_err *err) PK_MUST_CHECK;

/* Follows the newest descriptor of the same experiment that the store has, if any (pk_descriptor_check_changes). */
enum pk_code pk_own_follow_store(struct pk_store *s, const struct pk_probe *probe, struct pk_arena *a,
                                 struct pk_err *err) PK_MUST_CHECK;
