/* History: each metric of each case over the runs of an experiment, with its change points.
 *
 * A value is the median that one run recorded. Runs on different machines or with different settings, as `compare` finds them, are
 * different setups, and a series is of one setup only: nothing is ever compared across. */
#pragma once

#include "judge/criteria/criteria.h"
#include "judge/history/change_points.h"
#include "out/out.h"

struct pk_history_run {
    struct pk_run_facts facts;
    struct pk_compare_side figures;
    struct pk_verdict_row *verdicts; /* stored by the gate whose judged side it is */
    size_t n_verdicts;
};

/* One setup, numbered from 1 in the order of their first runs. */
struct pk_setup {
    size_t first, runs;             /* index of its first run; how many */
    const char *const *differences; /* to the setup before; the first has none */
    size_t n_differences;
};

struct pk_history_point {
    size_t run; /* index */
    const struct pk_figures *f;
    const char *verdict; /* of the gate whose judged side the run is; NULL = none */
    double change;       /* against the point before, median / median - 1; NaN = none */
    double
        uncertainty; /* half the 95 % interval of the median over the processes, relative; NaN under three */
};

struct pk_history_series {
    const struct pk_figures *newest;
    const char *place; /* the axes in which the cases differ; "" = none */
    size_t setup;      /* number */
    const struct pk_history_point *points;
    size_t n;
    const struct pk_change_point *change_points; /* at, until: indices of points */
    size_t n_change_points;
    bool exact;   /* equal work gives the equal figure: every change is a change point */
    double trend; /* of its last level, as pk_find_trend says */
};

struct pk_history_options {
    struct pk_compare_options what; /* which metrics */
    const char *filter;             /* as `run --filter`, on the axes that the cases have; NULL = all */
    double min_effect;              /* smaller changes are none */
};

struct pk_history {
    const struct pk_setup *setups;
    size_t n_setups;
    const char *common; /* axes in which all cases agree; "" = none */
    struct pk_history_series *
        v; /* of two points or more: the largest change point first, then series with a trend, then in the order of the cases */
    size_t n, left_out; /* left_out: series of one point */
};

/* The runs `ids`, those that are wanted of the store. PK_E_NOTHING for fewer than two. */
enum pk_code pk_history_read(struct pk_store *s, const struct pk_run_wanted *wanted, const int64_t *ids,
                             size_t n, struct pk_arena *a, struct pk_history_run **runs,
                             struct pk_err *err) PK_MUST_CHECK;

/* Runs in time order. PK_E_USAGE for an unknown metric, axis or value; PK_E_NOTHING when fewer than two runs measured the same. */
enum pk_code pk_history_make(const struct pk_history_run *runs, size_t n, const char *experiment,
                             const struct pk_history_options *o, struct pk_arena *a, struct pk_history *out,
                             struct pk_err *err) PK_MUST_CHECK;

/* The change points in words: "run 14 (commit abc123): +7.2 %, since then stable"; or that there are none, or why none could be detected. */
const char *pk_history_words(const struct pk_history_series *s, const struct pk_history_run *runs,
                             double min_effect, struct pk_arena *a);

/* Too few runs to find a change point. */
bool pk_history_too_short(const struct pk_history_series *s);

/* --- tables.c --- */

struct pk_history_view {
    const struct pk_history_run *runs;
    const char *experiment;
    double min_effect;
    bool people; /* plots, and no more than a screenful; programs get everything and no plots */
    bool screen; /* people, in the table format */
    bool all;    /* people, too */
    bool gates;  /* sides of gates are among the runs */
};

void pk_history_print(struct pk_out *out, const struct pk_history *h, const struct pk_history_view *view,
                      struct pk_arena *a);

struct pk_chart; /* store/table/chart.h */

/* plot.c: series of the first metric and setup, with their levels, change points, and how far the last level may move; no rows where there
 * is no series. */
enum pk_code pk_history_chart(const struct pk_history *h, const struct pk_history_view *view,
                              struct pk_arena *a, struct pk_chart *c, struct pk_err *err) PK_MUST_CHECK;
/* Draws series of the first metric and setup, where a drawing is wanted (pk_out_plots). */
enum pk_code pk_history_plot(struct pk_out *out, const struct pk_history *h,
                             const struct pk_history_view *view, struct pk_arena *a,
                             struct pk_err *err) PK_MUST_CHECK;

/* --- case_filter.c: which cases the filter of the options wants --- */

struct pk_case_filter;
/* The axes are those of `v`: texts are words, whole numbers may be written as sizes. text NULL: all cases. */
enum pk_code pk_case_filter_make(const char *text, const struct pk_figures *v, size_t n, struct pk_arena *a,
                                 struct pk_case_filter **out, struct pk_err *err) PK_MUST_CHECK;
bool pk_case_wanted(const struct pk_case_filter *f, const struct pk_figures *figures, struct pk_arena *a);
