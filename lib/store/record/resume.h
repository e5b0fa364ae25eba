/* Resume: continues a run that was interrupted or that reached its budget. */
#pragma once

#include "store/store.h"

/* The newest run of an experiment, of those with this label unless it is NULL, when it was interrupted, or its budget left cases or passes out;
 * run_id 0 when there is none or the newest has everything it asked for. */
struct pk_resumable {
    int64_t run_id;
    const char *settings; /* JSON, as given to pk_store_run_begin */
};
enum pk_code pk_store_resumable(struct pk_store *s, const char *experiment, const char *label,
                                struct pk_arena *a, struct pk_resumable *out,
                                struct pk_err *err) PK_MUST_CHECK;

/* Makes this process the recorder of the run. PK_E_NOT_COMPARABLE if the run was begun on another machine. */
enum pk_code pk_store_resume_run(struct pk_store *s, int64_t run_id, const char *machine,
                                 struct pk_err *err) PK_MUST_CHECK;

/* A counter, trace or memory pass of a case that is recorded, and not as left out by a budget. */
struct pk_pass_progress {
    enum pk_pass pass;
    int invocation; /* which of the counter passes, from 1 on */
};

/* What is already recorded of a case. */
struct pk_case_progress {
    int invocations; /* that ended ok; INT_MAX for a case that is not to be measured again, because it failed */
    enum pk_status last; /* its status; PK_ST_INTERRUPTED for none, and where a budget left slices out */
    const struct pk_pass_progress *passes;
    size_t n_passes;
};

/* The ids of the run's cases in the order of `cases`, and what is recorded of each, in the arena. PK_E_NOT_COMPARABLE if the run was planned
 * with other cases. */
enum pk_code pk_store_resume_cases(struct pk_store *s, int64_t run_id, const struct pk_case_info *cases,
                                   size_t n, struct pk_arena *a, int64_t *ids, struct pk_case_progress *done,
                                   struct pk_err *err) PK_MUST_CHECK;
