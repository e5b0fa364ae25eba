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

/* Makes this process the recorder of the run again. The machine must be the one that began it (PK_E_NOT_COMPARABLE). */
enum pk_code pk_store_run_again(struct pk_store *s, int64_t run_id, const char *machine,
                                struct pk_err *err) PK_MUST_CHECK;

/* A counter, trace or memory pass of a case that is recorded, and not as left out by a budget. */
struct pk_done_pass {
    enum pk_pass pass;
    int invocation; /* which of the counter passes, from 1 on */
};

/* What is over of a case. */
struct pk_done {
    int invocations; /* INT_MAX when the last word was not ok, since such a case is not tried again, unless its budget left it out */
    enum pk_status last; /* its last word; PK_ST_INTERRUPTED when there is none */
    const struct pk_done_pass *passes;
    size_t n_passes;
};

/* The ids of the run's cases in the order of `cases`, and what each one has, in the arena. PK_E_NOT_COMPARABLE when the run was planned with
 * other cases. */
enum pk_code pk_store_cases_again(struct pk_store *s, int64_t run_id, const struct pk_case_info *cases,
                                  size_t n, struct pk_arena *a, int64_t *ids, struct pk_done *done,
                                  struct pk_err *err) PK_MUST_CHECK;
