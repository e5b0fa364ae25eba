/* Parts: what the files of a page share. Private to lib/report. */
#pragma once

#include "out/out.h"
#include "report/report.h"
#include "store/table/chart.h"
#include "json/json.h"

enum { PK_PAGE_ROWS = 500 }; /* of a table; a note counts those that are left out */

/* The page being written. */
struct pk_page {
    const struct pk_page_options *report;
    FILE *f;
    struct pk_arena *a;
    bool pictures;  /* charts are drawn by gnuplot, because there is nothing that draws them in the page */
    json_t *charts; /* specifications, in the order of their places */
    json_t *runs;   /* the figures of each run */
};

/* Tables on their way into the page: pk_out_options.files. */
struct pk_page_tables {
    struct pk_page *page;
    const char *headline; /* the table that is open, all others are folded; NULL = all are open */
    FILE *
        between; /* what stands between findings and tables, from its beginning; NULL = nothing, or it is written */
};

/* html_table.c: into the page; each table is an element that can be folded, and the table "findings" is a list. */
struct pk_out *pk_page_out(struct pk_page_tables *t);
void pk_page_put_between(struct pk_page_tables *t);

/* run_section.c: */
enum pk_code pk_page_run_section(struct pk_page *p, const struct pk_page_run *run,
                                 struct pk_err *err) PK_MUST_CHECK;

/* The rows of a query of report.sql or another file of lib that is about one run, and has no other parameter than :run, :most (rows)
 * and :kept. */
enum { PK_PAGE_CASES = 5000 }; /* of the data, and as many figures: about 500 kB */
PK_MUST_CHECK static inline enum pk_code pk_page_query(const struct pk_page_run *run, const char *name,
                                                       struct pk_arena *a, struct pk_rows *rows,
                                                       struct pk_err *err)
{
    const struct pk_param params[] = {pk_param_int(":run", run->run_id), pk_param_int(":most", PK_PAGE_CASES),
                                      pk_param_int(":kept", 1)};
    return pk_query(run->store, name, PK_PARAMS(params), a, rows, err);
}

/* charts.c: a chart with its rows beneath; nothing where there are none. */
enum pk_code pk_page_chart(struct pk_page *p, const struct pk_chart *c, struct pk_err *err) PK_MUST_CHECK;
/* Those of a run's experiments, then those that every run has. */
enum pk_code pk_page_charts(struct pk_page *p, const struct pk_page_run *run,
                            struct pk_err *err) PK_MUST_CHECK;

/* trend.c: */
enum pk_code pk_page_trend(struct pk_page *p, struct pk_err *err) PK_MUST_CHECK;

/* topology.c: the boxes of a run's machine; nothing where its topology is not known. */
enum pk_code pk_page_topology(struct pk_page *p, const struct pk_page_run *run,
                              struct pk_err *err) PK_MUST_CHECK;

/* vega.c: the rows of a chart as a Vega-Lite specification, which is whole: data, encodings, and a width that a page changes to fit its
 * own. It names no URL. Texts of rows are values of its data, never part of an expression. Fields of the data: x, x2, y, lo, hi, c (colour),
 * f (facet), fit, t (label), r (rule), b (band). A chart draws at most so many rows: of more, some that are evenly chosen; *drawn says how many. */
enum { PK_PAGE_DRAWN = 4000 };
json_t *pk_page_spec(const struct pk_chart *c, size_t *drawn);
