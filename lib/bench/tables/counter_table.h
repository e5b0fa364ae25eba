/* Counted: the table of what counter passes counted and what follows from it. */
#pragma once

#include "store/store.h"

/* Columns: variant, axes, region, then each derived metric, then each event, then by how much counting slowed the region down; where the
 * table is too wide, the last go first. Prints nothing when nothing of the experiment was counted. */
enum pk_code pk_counted_table(struct pk_store *s, int64_t run_id, const char *experiment, struct pk_out *out,
                              struct pk_err *err) PK_MUST_CHECK;
