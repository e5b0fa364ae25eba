/* Record: from slices to rows. Computes summaries, hands slices to the store, spools what the store refuses. */
#pragma once

#include "store/store.h"

struct pk_recorder;

/* The recorder borrows the store (NULL: nothing is saved, --no-save) and knows the run's cases. */
struct pk_recorder *pk_recorder_new(struct pk_store *s, int64_t run_id, const char *store_path);
void pk_recorder_free(struct pk_recorder *r);

/* Ranks are combined as each metric says, instances of a region within an iteration summed, then summaries over the steady
 * samples; the case's summary is over its invocations' medians. When the store refuses, the slice is appended as wire lines to
 * STORE.spool-RUN.jsonl, and pk_recorder_spool names it: the run then ends with status 1. */
enum pk_code pk_record_slice(struct pk_recorder *r, int64_t case_id, const struct pk_case_info *c, const struct pk_slice *s,
                             struct pk_err *err) PK_MUST_CHECK;
/* What a worker said about how it measures; the first word per key and invocation stands. */
enum pk_code pk_record_setting(struct pk_recorder *r, int invocation, const char *key, const char *value,
                               struct pk_err *err) PK_MUST_CHECK;

const char *pk_recorder_spool(const struct pk_recorder *r); /* NULL = everything is in the store */

/* The case's summaries so far (for stopping, progress and fits); valid until the next slice. */
const struct pk_summary_row *pk_recorded(const struct pk_recorder *r, int64_t case_id, size_t *n);
