/* Criteria: thresholds, and rows of a comparison judged by them.
 *
 * A threshold is the smallest change that counts, for some metrics and cases, where the rule's value is not right for all.
 *
 *     forward_ns=5%                          a share
 *     forward_ns=5%,20us                     and at least so much: both must be reached
 *     peak_bytes=64KiB                       so much
 *     forward_ns[variant=flash,seq_len=1024]=10%    of these cases only
 *     *=3%                                   every metric; *=20us: every one in this unit
 *
 * The last one that matches a row is used. */
#pragma once

#include "base/arena.h"
#include "judge/pair/pair.h"
#include "opt/opt.h"
#include "store/record/verdicts.h"

struct pk_threshold {
    const char *text; /* as given */
    const char *
        place; /* place, for messages: "perf.ini:4: [flash]"; NULL = from the command line. Set by the reader of the file */
    const char *metric; /* "*" = any */
    const char *where;  /* "variant=flash,seq_len=1024"; "" = any */
    double min_effect;  /* 0 = not given */
    double min_change;  /* in the metric's unit; 0 = not given */
    const char *unit;   /* of min_change as written: "ns", "bytes"; NULL = a plain number, or not given */
};

/* PK_E_USAGE with what is wrong. */
enum pk_code pk_threshold_parse(const char *text, struct pk_arena *a, struct pk_threshold *out,
                                struct pk_err *err) PK_MUST_CHECK;

/* The criteria of the rows of a part, such as an entry of a suite. Its own criteria are used first: its thresholds, then its min_effect;
 * then the thresholds of all for the other rows. */
struct pk_criteria {
    const struct pk_threshold *own, *all;
    size_t n_own, n_all;
    double min_effect; /* of its own rows, except exact figures; 0 = none */
    bool typed;        /* `all` are from the command line, so they are stronger than its min_effect */
};
/* Sets min_effect and min_change of the rows that thresholds match; without a relative part a row keeps its min_effect. */
void pk_criteria_apply(const struct pk_criteria *criteria, struct pk_compared *v, size_t rows);
/* The rows of a part, measured or expected, that metrics and thresholds must match: a threshold that matches none would guard nothing. */
struct pk_expected_rows {
    const char *place;                  /* before an error: "perf.ini:12: [flash]"; NULL = none */
    const struct pk_compare_side *side; /* all rows that could be compared, for advice; NULL = not known */
    const struct pk_compare_options
        *what; /* metrics to judge: each must be in `side` and have a direction; NULL = checked before */
    const struct pk_compared *rows, *missing; /* missing: those of base that new lacks */
    size_t n, n_missing;                      /* both 0: nothing is known of thresholds */
    struct pk_criteria criteria;              /* their own thresholds, and those of all parts */
};

/* Adds PK_E_USAGE, with its place, for each metric that cannot be judged, for each threshold of a part that matches none of its rows or
 * whose unit is not that of the metric, and, where `all_parts` are here, for each threshold of all that matches no row of any. The last is
 * the error. */
enum pk_code pk_expected_rows_check(const struct pk_expected_rows *parts, size_t n, bool all_parts,
                                    struct pk_errs *wrong, struct pk_err *err) PK_MUST_CHECK;

/* --- judging --- */

struct pk_judging {
    struct pk_rule rule;
    enum pk_design design;
    int64_t screened; /* PK_DESIGN_GATE: the last invocation of the screening; 0 = the screening continues */
    bool equal;       /* both sides are the same: differences are noise, and no row is judged */
};

/* Fills `judged` and `decision` of every row; ratio, interval and speed-up are set to the judged ones. Exact figures (of class exact, or
 * of perfkit's own allocator) are compared without statistics. */
void pk_judge(struct pk_compared *v, size_t n, const struct pk_judging *j);

/* The same, from the verdicts that a gate stored for these rows with this run as its base, instead of judging them. False, and nothing
 * is changed, when the verdict of a row is missing. */
bool pk_apply_stored_verdicts(struct pk_compared *v, size_t n, const struct pk_verdict_row *rows,
                              size_t n_rows, const char *base_uuid);

/* After judging: sets `tail` of rows that are better when lower and neither slower nor faster, where the p90 or p99 of the processes is
 * slower or faster by the row's margin, as significant as rows are, at a fifth of alpha for the tails of all rows together, and by rank at
 * 0.5 %. Each process must have samples enough for it; each side of stored runs, runs enough. */
void pk_find_moved_tails(struct pk_compared *v, size_t n, const struct pk_judging *j);

/* The invocations that both sides have, as pairs. */
struct pk_pairs pk_compare_pairs(const struct pk_compared *c, struct pk_arena *a);

/* -1: the whole interval is on the worse side of 1; 1: on the better one; 0: neither, or there is no interval. */
int pk_compared_side(const struct pk_compared *c);

/* The most serious first: slower, slower-in-some, faster, unstable, undecided, same, and those without a verdict, of which those whose
 * recordings differ are first; within a verdict the largest change. */
void pk_compare_sort(struct pk_compared *v, size_t n);

/* How many rows have each verdict, by enum pk_verdict; those without one are not counted. */
struct pk_verdicts {
    size_t of[PK_UNSTABLE + 1], rows;
    size_t slower;  /* all that make a gate red: slower, slower-in-some */
    size_t refused; /* rows without a result: unreplicated, unstable, pairs missing, no absolute threshold */
};
struct pk_verdicts pk_compare_count(const struct pk_comparison *c);

/* --- comparisons of the entries of a suite as one family, whose rows share the risk of a false alarm --- */

struct pk_compare_part {
    const char *name;               /* of the entry */
    const struct pk_comparison *of; /* not judged; a row's base_runs and new_runs are set */
    struct pk_criteria criteria;    /* of its rows */
    bool refused;                   /* its rows are shown and not judged */
};

struct pk_compare_family {
    const struct pk_compare_part *v;
    size_t n;
    struct pk_rule rule;
    double level; /* of intervals */
};

/* All rows, judged and sorted. PK_E_USAGE for thresholds, as pk_expected_rows_check says it. */
enum pk_code pk_compare_judge_family(const struct pk_compare_family *f, struct pk_arena *a,
                                     struct pk_comparison *out, struct pk_errs *wrong,
                                     struct pk_err *err) PK_MUST_CHECK;

/* --- what options say --- */

struct pk_verdict_options {
    struct pk_texts metrics, thresholds;
    bool all_metrics, strict, only_changed, fail_on_undecided, allow_host_mismatch, allow_missing;
    double min_effect, alpha;
    struct
        pk_verdict_given { /* which are given, not defaults: these are stronger than those stored by a gate */
        bool min_effect, alpha, strict, thresholds;
    } given;
};

/* All of o->thresholds. The errors of each are added to `wrong`. */
struct pk_threshold *pk_verdict_thresholds(const struct pk_verdict_options *o, struct pk_arena *a,
                                           struct pk_errs *wrong);
struct pk_compare_options pk_verdict_what(const struct pk_verdict_options *o);
struct pk_rule pk_verdict_rule(const struct pk_verdict_options *o);
/* Which rows a table shows; for counters, those that changed by at least the threshold. */
void pk_verdict_hide(const struct pk_verdict_options *o, struct pk_comparison *c);
void pk_verdict_hide_counters(const struct pk_verdict_options *o, struct pk_comparison *counters);
