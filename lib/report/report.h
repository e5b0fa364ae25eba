/* Report: one self-contained page of stored runs.
 *
 * The page has, of each run: its findings, the charts of its experiment (`-- chart:`) with their rows folded beneath, its tables, the
 * environment, how it was measured and the commands that made it; then the data as JSON. It loads nothing: style, scripts and data are
 * inside, and its Content-Security-Policy permits nothing else. What was recorded is text, never markup (html.h). docs/report.md. */
#pragma once

#include "judge/pair/pair.h"
#include "store/store.h"

struct pk_table_source; /* out/output/output.h */
struct pk_chart;        /* store/table/chart.h */

/* Of more runs than this, the first and the newest stand in full, the others as rows of a table. */
enum { PK_PAGE_RUNS = 4 };

struct pk_page_run {
    struct pk_store *store;
    int64_t run_id;
    const char *name; /* as perfkit commands take it: "12", "other.db:3" */
};

struct pk_page_options {
    const struct pk_page_run *runs; /* n >= 1, in the order of the command line */
    size_t n;
    const struct pk_table_source *comparison; /* of the first run with the last one; NULL = none */
    const char *not_comparable;               /* why there is none, of several runs; NULL */
    const char *outcome;                      /* of the comparison, in a sentence at the top; NULL = none */
    const struct pk_chart *chart;             /* of the comparison; NULL = none */
    struct pk_compare_options
        what;            /* of more than two runs: the metrics of their trend, and the level of intervals */
    double min_effect;   /* smaller changes are none */
    const char *command; /* that makes this page again */
    const volatile int *stop_flag; /* NULL = nothing ends it */
};

/* Writes the page. An error of the stream is the caller's to see (ferror). */
enum pk_code pk_page_write(const struct pk_page_options *r, FILE *f, struct pk_arena *a,
                           struct pk_err *err) PK_MUST_CHECK;
