/* Report files: a comparison for CI servers: JUnit, Markdown summary, GitHub annotations. */
#pragma once

#include "cmd/cmd.h"
#include "judge/report/report.h"

/* Where to; NULL = not asked for. */
struct pk_report_files {
    const char *junit, *summary, *json, *gab, *gab_bigger;
};
extern const struct pk_opt pk_report_rows[]; /* options that fill it */

/* Can they be written, each of its own? Asked before anything is measured. PK_E_USAGE for two that are one file, -o among them. Each that
 * cannot be is said and taken out of *f: the others can still be told. */
enum pk_code pk_reports_check(const struct pk_app *app, struct pk_report_files *f,
                              struct pk_err *err) PK_MUST_CHECK;

/* The machine that a run was measured on; "" = unknown. */
const char *pk_reports_host(const struct pk_run_facts *run, struct pk_arena *a);

/* Prints the tables to `out`. */
typedef enum pk_code pk_print_fn(void *user, struct pk_out *out, struct pk_err *err);

/* Every file that is asked for; in a GitHub workflow also annotations, on standard error, the step's summary and its outputs. `answer` is the
 * command's, told in err, and is returned. A file that cannot be written hides neither it nor another file: its error is printed where there
 * is an answer to return, and is err where there is none. */
enum pk_code pk_reports_write(const struct pk_app *app, const struct pk_report_files *f,
                              const struct pk_report *r, pk_print_fn *print, void *user, enum pk_code answer,
                              struct pk_err *err) PK_MUST_CHECK;
