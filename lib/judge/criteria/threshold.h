/* Threshold: what a change must reach to be of interest, for some metrics and cases, where the rule's is not right for all.
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

/* What is asked of the rows of a part, such as a suite's entry. What is its own always wins: its thresholds, then its min_effect, then, for
 * what these leave open, the thresholds of all. */
struct pk_asked {
    const struct pk_threshold *own, *all;
    size_t n_own, n_all;
    double min_effect; /* of its own rows, but for exact figures; 0 = none */
    bool typed;        /* `all` were typed, and so are stronger than its min_effect */
};
void pk_thresholds_ask(const struct pk_asked *asked, struct pk_compared *v, size_t rows);
/* Adds PK_E_USAGE, with its place, for each that fits no row, or whose unit is not the metric's: it would be believed to guard something. Of
 * no rows nothing is known. `measured` is what could be compared, for advice; NULL = that is not known. */
void pk_thresholds_check(const struct pk_threshold *t, size_t n, const struct pk_compared *v, size_t rows,
                         const struct pk_compare_side *measured, struct pk_errs *wrong);
