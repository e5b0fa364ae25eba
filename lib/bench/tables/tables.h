/* Tables: what `run` prints when it ends and `show` prints ever after. */
#pragma once

#include "store/store.h"

/* A line that says which run it is, when and on what; the tables of its experiment, in the order its probe lists them; for cases without a probe (exec, a peer's own, an
 * experiment this build does not have) the built-in ones. */
enum pk_code pk_run_tables(struct pk_store *s, int64_t run_id, struct pk_out *out,
                           struct pk_err *err) PK_MUST_CHECK;
