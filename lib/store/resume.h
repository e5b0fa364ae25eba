/* Resume: going on with a run that was interrupted. */
#pragma once

#include "store/store.h"

/* The newest run of an experiment when it was interrupted; run_id 0 when there is none or the newest is complete. */
struct pk_resumable {
    int64_t run_id;
    const char *settings; /* JSON, as given to pk_store_run_begin */
};
enum pk_code pk_store_resumable(struct pk_store *s, const char *experiment, struct pk_arena *a,
                                struct pk_resumable *out, struct pk_err *err) PK_MUST_CHECK;

/* Makes this process the recorder of the run again. The machine must be the one that began it (PK_E_NOT_COMPARABLE). */
enum pk_code pk_store_run_again(struct pk_store *s, int64_t run_id, const char *machine,
                                struct pk_err *err) PK_MUST_CHECK;

/* The ids of the run's cases in the order of `cases`, and how many of each one's invocations are over: INT_MAX when its last word
 * was not ok, since such a case is not tried again. PK_E_NOT_COMPARABLE when the run was planned with other cases. */
enum pk_code pk_store_cases_again(struct pk_store *s, int64_t run_id, const struct pk_case_info *cases,
                                  size_t n, int64_t *ids, int *done, struct pk_err *err) PK_MUST_CHECK;
