/* Compare: options of a verdict, and how two stored sides are printed: shared with gate, baseline and report. */
#pragma once

#include "cmd/cmd.h"
#include "judge/gate/stored_sides.h"
#include "judge/report/comparison.h"

/* --- stored_comparison.c: verdict options, and two stored sides --- */

extern const struct pk_opt pk_verdict_rows[]; /* into struct pk_verdict_options */

/* PK_E_USAGE for --all-metrics with --metric. */
enum pk_code pk_metric_options_check(const struct pk_opt_table *table, struct pk_err *err) PK_MUST_CHECK;

/* Contradictions, and thresholds that make no sense. *thresholds holds o->thresholds.n; o->given is filled. */
enum pk_code pk_verdict_options_check(const struct pk_app *app, struct pk_verdict_options *o,
                                      struct pk_threshold **thresholds, struct pk_err *err) PK_MUST_CHECK;

/* The runs that a reference of the command line names. */
struct pk_run_source pk_run_source(struct pk_app *app);

/* pk_stored_compare, all that is wrong with thresholds printed except the last. */
enum pk_code pk_stored_judge(struct pk_app *app, const char *base, const char *new_,
                             const struct pk_verdict_options *o, const struct pk_threshold *thresholds,
                             struct pk_stored_pair *out, struct pk_err *err) PK_MUST_CHECK;
void pk_stored_run_rows(const struct pk_stored_pair *p, struct pk_out *out); /* of the table of runs */
void pk_stored_print(const struct pk_stored_pair *p, struct pk_out *out, struct pk_arena *a);
