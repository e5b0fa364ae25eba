/* Criteria: thresholds, and rows of a comparison judged by them.
 *
 * A threshold is what a change must reach to be of interest, for some metrics and cases, where the rule's is not right for all.
 *
 *     forward_ns=5%                          a share
 *     forward_ns=5%,20us                     and at least so much: both must be reached
 *     peak_bytes=64KiB                       so much
 *     forward_ns[variant=flash,seq_len=1024]=10%    of these cases only
 *     *=3%                                   every metric; *=20us: every one in this unit
 *
 * The last one that fits a row counts. */
#pragma once

#include "base/errs.h"
#include "judge/pair/pair.h"

struct pk_threshold {
    const char *text;   /* as given */
    const char *place;  /* where, for messages: "perf.ini:4: [flash]"; NULL = typed. Set by who knows it */
    const char *metric; /* "*" = any */
    const char *where;  /* "variant=flash,seq_len=1024"; "" = any */
    double min_effect;  /* 0 = not given */
    double min_change;  /* in the metric's unit; 0 = not given */
    const char *unit;   /* of min_change as written: "ns", "bytes"; NULL = a plain number, or not given */
};

/* PK_E_USAGE with what is wrong. */
enum pk_code pk_threshold_parse(const char *text, struct pk_arena *a, struct pk_threshold *out,
                                struct pk_err *err) PK_MUST_CHECK;

/* Sets min_effect and min_change of the rows that they fit; without a share a row's min_effect stays. */
void pk_thresholds_apply(const struct pk_threshold *t, size_t n, struct pk_compared *v, size_t rows);

/* The criteria of the rows of a part, such as a suite's entry. What is its own always wins: its thresholds, then its min_effect, then, for
 * what these leave open, the thresholds of all. */
struct pk_criteria {
    const struct pk_threshold *own, *all;
    size_t n_own, n_all;
    double min_effect; /* of its own rows, but for exact figures; 0 = none */
    bool typed;        /* `all` were typed, and so are stronger than its min_effect */
};
void pk_criteria_apply(const struct pk_criteria *criteria, struct pk_compared *v, size_t rows);
/* Adds PK_E_USAGE, with its place, for each that fits no row, or whose unit is not the metric's: it would be believed to guard something. Of
 * no rows nothing is known. `measured` is what could be compared, for advice; NULL = that is not known. */
void pk_thresholds_check(const struct pk_threshold *t, size_t n, const struct pk_compared *v, size_t rows,
                         const struct pk_compare_side *measured, struct pk_errs *wrong);

/* --- judging --- */

struct pk_judging {
    struct pk_rule rule;
    enum pk_design design;
    int64_t screened; /* PK_DESIGN_GATE: the last invocation of the screening; 0 = it goes on */
    bool equal;       /* both sides are the same thing: what differs is noise, and no row is judged */
};

/* Whether equal work must give the equal figure. */
bool pk_figures_exact(const struct pk_figures *f);

/* Fills `judged` and `decision` of every row; ratio, interval and speed-up become those that were judged. Exact figures (of class
 * exact, or of perfkit's own allocator) are held against each other as they are. */
void pk_judge(struct pk_compared *v, size_t n, const struct pk_judging *j);

/* The invocations that both sides have, as pairs. */
struct pk_pairs pk_compare_pairs(const struct pk_compared *c, struct pk_arena *a);

/* The gravest first: slower, faster, unstable, undecided, same, and those without a verdict; within a word the largest change. */
void pk_compare_sort(struct pk_compared *v, size_t n);

/* How many rows have each verdict, by enum pk_verdict; those without one are not counted. */
struct pk_verdicts {
    size_t of[PK_UNSTABLE + 1], rows;
    size_t
        refused; /* rows of which nothing could be said: unreplicated, unstable, pairs missing, no absolute threshold */
};
struct pk_verdicts pk_compare_count(const struct pk_comparison *c);

/* --- comparisons of the entries of a suite as one family, whose rows share the risk of a false alarm --- */

struct pk_compare_part {
    const char *name;               /* of the entry */
    const struct pk_comparison *of; /* not judged; a row's base_runs and new_runs are set */
    const struct pk_threshold
        *thresholds; /* of its rows; they come before those of all (pk_criteria_apply) */
    size_t n_thresholds;
    double min_effect; /* of its rows; 0 = the rule's */
    bool refused;      /* its rows are shown and not judged */
};

struct pk_compare_family {
    const struct pk_compare_part *v;
    size_t n;
    const struct pk_threshold *thresholds; /* of the rows of all */
    size_t n_thresholds;
    bool typed; /* they are stronger than a part's min_effect */
    struct pk_rule rule;
    double level; /* of intervals */
};

/* All rows, judged and sorted. Each threshold that fits none of the rows it is for is added to `wrong`. */
void pk_compare_judge_family(const struct pk_compare_family *f, struct pk_arena *a, struct pk_comparison *out,
                             struct pk_errs *wrong);
