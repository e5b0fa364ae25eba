/* Stored: two sides named on the command line, read from the store, paired and judged. What compare and gate --against share. */
#pragma once

#include "bench/states.h"
#include "cmd/cmd.h"
#include "judge/criteria/criteria.h"
#include "judge/report/report.h"

/* Options of a verdict. */
struct pk_verdict_options {
    struct pk_texts metrics, thresholds;
    bool all_metrics, strict, only_changed, fail_on_undecided, allow_host_mismatch;
    double min_effect, alpha;
};

#define PK_VERDICT_ROWS(at)                                                                                  \
    {"metric",                                                                                               \
     'm',                                                                                                    \
     PK_OPT_LIST,                                                                                            \
     at(metrics),                                                                                            \
     "NAME",                                                                                                 \
     .group = "The verdict",                                                                                 \
     .help = "judge this metric; without it, times"},                                                        \
        {"all-metrics", 0, PK_OPT_FLAG, at(all_metrics), .help = "judge every metric"},                      \
        {"min-effect",                                                                                       \
         0,                                                                                                  \
         PK_OPT_RATIO,                                                                                       \
         at(min_effect),                                                                                     \
         "RATIO",                                                                                            \
         1e-6,                                                                                               \
         10,                                                                                                 \
         .def = "2%",                                                                                        \
         .help = "the smallest change of interest"},                                                         \
        {"threshold",                                                                                        \
         0,                                                                                                  \
         PK_OPT_LIST,                                                                                        \
         at(thresholds),                                                                                     \
         "METRIC=SIZE",                                                                                      \
         .help = "another one for some: forward_ns=5%, forward_ns=5%,20us, "                                 \
                 "'forward_ns[variant=flash]=10%'"},                                                         \
        {"alpha",   0,           PK_OPT_RATIO,                                                               \
         at(alpha), "RATIO",     1e-6,                                                                       \
         0.5,       .def = "5%", .help = "the risk of a false alarm, over all rows"},                        \
        {"strict", 0, PK_OPT_FLAG, at(strict),                                                               \
         .help = "slower only when the whole interval is beyond --min-effect, not the estimate alone"},      \
        {"allow-host-mismatch", 0, PK_OPT_FLAG, at(allow_host_mismatch),                                     \
         .help = "judge stored runs although their machines or settings differ"},                            \
        {"fail-on-undecided", 0, PK_OPT_FLAG, at(fail_on_undecided),                                         \
         .help = "exit status 4 when any row is undecided"},                                                 \
    {                                                                                                        \
        "only-changed", 0, PK_OPT_FLAG, at(only_changed), .help = "leave out the rows that are the same"     \
    }

/* Contradictions, and thresholds that make no sense. *thresholds holds o->thresholds.n. */
enum pk_code pk_verdict_options_check(const struct pk_app *app, const struct pk_verdict_options *o,
                                      struct pk_threshold **thresholds, struct pk_err *err) PK_MUST_CHECK;
/* Each threshold that fits no row, as pk_thresholds_check says it: printed, the last one returned. */
enum pk_code pk_verdict_thresholds_check(const struct pk_verdict_options *o,
                                         const struct pk_threshold *thresholds, const struct pk_comparison *c,
                                         const struct pk_compare_side *measured,
                                         struct pk_err *err) PK_MUST_CHECK;
struct pk_compare_options pk_verdict_what(const struct pk_verdict_options *o);
struct pk_rule pk_verdict_rule(const struct pk_verdict_options *o);
/* Which rows a table shows; of counters, those that changed by what is of interest. */
void pk_verdict_hide(const struct pk_verdict_options *o, struct pk_comparison *c);
void pk_verdict_hide_counters(const struct pk_verdict_options *o, struct pk_comparison *counters);

/* Runs of one side. */
struct pk_stored_side {
    const char *name; /* "run 12", "runs main" */
    const char
        *instead; /* a sentence: what was taken for a name that the store does not know; NULL = nothing */
    struct pk_run_facts *facts;
    struct pk_run_state *states; /* of facts[i] */
    size_t n_runs;
    struct pk_compare_side figures;
    struct pk_compare_side counters;
    struct pk_compare_kernels kernels; /* of the newest run */
};
/* Without the runs of `except`, unless there is no other: a baseline does not hold what is judged by it. except and `of`, the entry of a
 * suite, may be NULL. */
enum pk_code pk_stored_read(struct pk_app *app, const char *ref, const struct pk_entry_name *of,
                            const struct pk_stored_side *except, struct pk_stored_side *side,
                            struct pk_err *err) PK_MUST_CHECK;

/* The same of a base. A name that the store does not know and git does, such as that of a branch, stands for the runs of the commit at
 * which HEAD left it. PK_E_NOT_COMPARABLE when there is no run but those of `except`. */
enum pk_code pk_stored_base(struct pk_app *app, const char *ref, const struct pk_entry_name *of,
                            const struct pk_stored_side *except, struct pk_stored_side *side,
                            struct pk_err *err) PK_MUST_CHECK;

struct pk_stored_pair {
    struct pk_stored_side base, new_;
    struct pk_comparison comparison;
    struct pk_comparison counters;
    const char *const *differences; /* of machines and settings */
    size_t n_differences;
    bool refused; /* because of them no row is judged */
    bool equal;   /* the sides of a gate that found them to be the same thing: no row is judged */
};
/* Judged and sorted. Two sides of one gate are judged as it did. */
enum pk_code pk_stored_compare(struct pk_app *app, const char *base, const char *new_,
                               const struct pk_verdict_options *o, const struct pk_threshold *thresholds,
                               struct pk_stored_pair *out, struct pk_err *err) PK_MUST_CHECK;
/* An entry of a suite, not judged yet: the rows of all are one family. */
enum pk_code pk_stored_entry(struct pk_app *app, const char *base, const char *new_,
                             const struct pk_entry_name *of, const struct pk_verdict_options *o,
                             struct pk_stored_pair *out, struct pk_err *err) PK_MUST_CHECK;
void pk_stored_print(const struct pk_stored_pair *p, struct pk_out *out, struct pk_arena *a);
/* A note, where base has fewer runs than a verdict needs: how many, and how to get them. */
void pk_stored_say_missing(const struct pk_stored_pair *p, struct pk_out *out, struct pk_arena *a);

/* What new has not that base has, as failures: so many as comparison.n_unmatched. entry: of the suite; NULL = none. */
const struct pk_failure *pk_stored_failures(const struct pk_stored_pair *p, const char *entry,
                                            struct pk_arena *a);
/* PK_E_CHECK when a case that ended ok in base did not in new. */
enum pk_code pk_stored_failed(const struct pk_stored_pair *p, struct pk_arena *a,
                              struct pk_err *err) PK_MUST_CHECK;
/* PK_E_NOT_COMPARABLE when new has no figure of a metric, in the unit of base. */
enum pk_code pk_stored_lost(const struct pk_stored_pair *p, struct pk_arena *a,
                            struct pk_err *err) PK_MUST_CHECK;
/* The exit status, when it is asked for: those two, and what pk_answer says. A regression counts, whatever metrics are lost. */
enum pk_code pk_stored_answer(const struct pk_stored_pair *p, const struct pk_verdict_options *o,
                              struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
