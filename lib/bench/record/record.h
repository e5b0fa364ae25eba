/* Record: turns slices into rows. It computes summaries, passes slices to the store, and writes those that the store refuses into a
 * spool. */
#pragma once

#include "store/store.h"

struct pk_recorder;

/* The recorder borrows the store; a spool is created beside store_path. A resumed run (--resume) is continued: its earlier invocations
 * count in the summaries. */
struct pk_recorder *pk_recorder_new(struct pk_store *s, int64_t run_id, const char *store_path);
void pk_recorder_free(struct pk_recorder *r);

/* A case of the run that was not planned. PK_OK with *id 0 when the store cannot be written: the spool then contains the case with its
 * slices, which are recorded under id 0. */
enum pk_code pk_record_case(struct pk_recorder *r, const struct pk_case_info *c, int64_t *id,
                            struct pk_err *err) PK_MUST_CHECK;

/* Computes and stores, in one transaction. Over the steady samples of a timing slice that ended ok: instances
 * of a region within an iteration are summed, ranks combined as the metric says, then per slice n, median,
 * mean, sd, min, max and the figure its `combine` makes of them. Of the case: `median` over its invocations'
 * figures with the interval of that median; n, mean, sd, min, max, cv over all steady samples of all
 * invocations. When the store cannot be written (PK_E_IO, or PK_E_INTERRUPTED while it waited) the slice is appended as wire lines to
 * STORE.spool-RUN.jsonl, in the temporary directory when that fails too, and the result is PK_OK:
 * pk_recorder_finish tells. A slice the store finds unsound is recorded as a failed one with the reason.
 * PK_E_USAGE: this place is taken by a slice that ended ok. PK_E_IO: it could be written nowhere. */
enum pk_code pk_record_slice(struct pk_recorder *r, int64_t case_id, const struct pk_case_info *c,
                             const struct pk_slice *s, struct pk_err *err) PK_MUST_CHECK;
/* The same without a spool to fall back on: PK_E_IO when the store cannot be written. */
enum pk_code pk_record_checked(struct pk_recorder *r, int64_t case_id, const struct pk_slice *s,
                               struct pk_err *err) PK_MUST_CHECK;
/* A fact about how a worker measures; the first value per key and invocation is kept. It is written with the next slice, so that nothing
 * is written during a measurement. */
enum pk_code pk_record_setting(struct pk_recorder *r, int invocation, const char *key, const char *value,
                               struct pk_err *err) PK_MUST_CHECK;

/* The facts of the run so far whose keys have this prefix, in the order of its invocations; in the arena. */
enum pk_code pk_recorded_settings(struct pk_recorder *r, const char *prefix, struct pk_arena *a,
                                  struct pk_setting **out, size_t *n, struct pk_err *err) PK_MUST_CHECK;

const char *pk_recorder_spool(const struct pk_recorder *r); /* NULL = everything is in the store */

/* Marks the run as ended. While slices of it are not in the store it is interrupted: `perfkit import` gives it the status that its spool got. */
enum pk_code pk_recorder_end_run(const struct pk_recorder *r, const char *status,
                                 struct pk_err *err) PK_MUST_CHECK;

/* Ends the recording of a run that ended with this status, which its spool gets, too. PK_OK when everything is in the store; otherwise the code of the first failed write, with the spool, the reason,
 * and how to import it. */
enum pk_code pk_recorder_finish(struct pk_recorder *r, const char *status, struct pk_err *err) PK_MUST_CHECK;

/* --- summaries, of a slice and of a case over its invocations (summarize.c) --- */

/* Of every metric of a timing slice that ended ok and has finite steady samples: rows[0..n), in the order of
 * its metrics. rows holds n_metrics. */
size_t pk_summarize_slice(const struct pk_slice *s, struct pk_summary_row *rows);

/* Over the invocations of one metric of one case. n >= 1; scratch holds n. */
struct pk_summary_row pk_summarize_case(const struct pk_summary_row *invocations, size_t n, double *scratch);
