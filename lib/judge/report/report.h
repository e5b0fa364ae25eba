/* Report: a comparison in the formats of other programs. Texts are UTF-8, whole files, in the arena. */
#pragma once

#include "judge/criteria/criteria.h"
#include "out/out.h"

struct pk_report {
    const struct pk_comparison *comparison;
    const struct pk_failure *failures;
    size_t n_failures;
    const char *outcome;    /* a word: "ok", "slower", "not comparable" */
    const char *name;       /* of the whole: "perfkit gate attention-scaling" */
    const char *host;       /* that measured; "" = unknown */
    const char *started_at; /* "2026-11-21T12:00:00Z", when that was */
    double seconds;         /* that the command took */
};

/* JUnit XML: a test case per row, and per failure, which is named as the row of its case would be. slower and slower-in-some are failures, unstable and unreplicated are errors, as failures
 * are, undecided is skipped, as failures are that are allowed. */
const char *pk_report_junit(const struct pk_report *r, struct pk_arena *a);

/* GitHub's workflow commands, a line each: an error with the number of slower rows, one for each of the worst nine; the same of slower-in-some; a warning for what
 * is unstable; an error for each failure, and a notice for one that is allowed, at most ten. "" when there is nothing to report. */
const char *pk_report_annotations(const struct pk_report *r, struct pk_arena *a);

/* Outputs of a step: verdict=OUTCOME, rows=N, how many rows have each verdict, slower=0 ..., and missing=N, a line each. */
const char *pk_report_outputs(const struct pk_report *r, struct pk_arena *a);

/* New figures for github-action-benchmark: of metrics of which a lower value is better (customSmallerIsBetter), or a higher one
 * (customBiggerIsBetter). NULL when there is none, because it does not accept an empty file. */
const char *pk_report_gab(const struct pk_report *r, bool bigger, struct pk_arena *a);

/* "flash dtype=fp32 seq_len=256": a case with all its axes, which are JSON. */
const char *pk_report_case(const char *variant, const char *axes, struct pk_arena *a);

/* "forward_ns of flash seq_len=256: slower, +5.3 % (+3.9 to +6.8 %)"; of a suite with "[entry] " before it. */
const char *pk_report_row(const struct pk_compared *r, struct pk_arena *a);

/* "slower in 7 of 20 processes, in the base in 0, by +98.3 %: 1.98 ms, others 1.00 ms (20 pairs find a share of 42 % 8 times
 * in 10)", of a row with slow processes. */
const char *pk_report_slow(const struct pk_compared *r, struct pk_arena *a);

/* "[entry] made_up_ns of flash n=2"; "all" of no one case. */
const char *pk_failure_text(const struct pk_failure *f, struct pk_arena *a);

/* A report is red whenever the exit status is not 0, and says why: an outcome that is not visible in its rows and failures becomes a
 * separate failure. */
struct pk_report pk_report_with_outcome(const struct pk_report *r, const struct pk_err *outcome,
                                        struct pk_arena *a);

/* --- column.c: columns of figures, whose unit is known only from the store --- */

/* What a row of figures is of, behind its variant. */
#define PK_FIGURE_COLUMNS                                                                                    \
    {.key = "case", .heading = "Case", .left = true}, {.key = "metric", .heading = "Metric", .left = true},  \
        {.key = "unit", .heading = "Unit", .left = true, .machine = true},                                   \
        {.key = "direction", .heading = "Direction", .left = true, .machine = true},                         \
        {.key = "device", .heading = "Device", .left = true, .machine = true},                               \
    {                                                                                                        \
        .key = "axes", .heading = "Axes", .left = true, .json = true, .machine = true                        \
    }
void pk_put_figure(struct pk_row *row, const char *place, const struct pk_figures *f);

/* "ns" -> "_ns", "flops/s" -> "_flops_per_s", "1" -> "". */
const char *pk_key_tail(const char *unit, struct pk_arena *a);

/* Gives a column of figures its key and heading ("base" -> "base_ns", "Base" -> "Base (ms)") and its scale; least: the smallest figure
 * of the table, which is to keep its digits. */
void pk_value_column(struct pk_column *col, const char *unit, double least, struct pk_arena *a);

struct pk_chart; /* store/table/chart.h */

/* plot.c: the ratios of a comparison with their intervals, at most so many rows (SIZE_MAX: all); no rows where nothing has a ratio. */
enum pk_code pk_compare_chart(const struct pk_comparison *c, size_t most, struct pk_arena *a,
                              struct pk_chart *chart, struct pk_err *err) PK_MUST_CHECK;
/* Draws them of a comparison with their intervals, where a drawing is wanted (pk_out_plots). */
enum pk_code pk_compare_plot(struct pk_out *out, const struct pk_comparison *c, struct pk_arena *a,
                             struct pk_err *err) PK_MUST_CHECK;

/* What could not be compared, as the table "not_compared"; nothing when there is none. */
void pk_failures_print(const struct pk_failure *v, size_t n, struct pk_out *out);
