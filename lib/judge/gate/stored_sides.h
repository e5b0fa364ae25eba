/* Stored sides: two sides given by references, read from the store, paired and judged. Shared by compare and gate --against. */
#pragma once

#include "bench/tables/tables.h"
#include "judge/criteria/criteria.h"
#include "judge/report/report.h"

/* How the runs of a reference are opened, and the arena of all that is read. */
struct pk_run_source {
    enum pk_code (*open)(void *user, const char *ref, const struct pk_entry_name *of, struct pk_store **s,
                         int64_t **ids, size_t *n, struct pk_err *err);
    void *user;
    struct pk_arena *arena;
};

/* Runs of one side. */
struct pk_stored_side {
    const char *name; /* "run 12", "runs main" */
    const char *file; /* of the store */
    const char
        *instead; /* a sentence: what a name that is not in the store was resolved to; NULL = nothing */
    struct pk_run_facts *facts;
    struct pk_run_state *states; /* of facts[i] */
    size_t n_runs;
    struct pk_compare_side figures;
    struct pk_compare_side counters;
    const char *yardstick;    /* of one run: the variant that its experiment describes as such; NULL = none */
    const struct pk_own *own; /* what the newest run's program described; NULL = the experiment is built in */
    struct pk_verdict_row *verdicts; /* of one run: those of the gate whose new side it is */
    size_t n_verdicts;
    struct pk_compare_kernels kernels; /* of the newest run */
};
/* Without the runs of `except`, unless there is no other: a baseline does not contain the runs that are judged with it. except and `of`,
 * the entry of a suite, may be NULL. */
enum pk_code pk_stored_read(const struct pk_run_source *from, const char *ref, const struct pk_entry_name *of,
                            const struct pk_stored_side *except, struct pk_stored_side *side,
                            struct pk_err *err) PK_MUST_CHECK;

/* The same of a base. A name that is not in the store but known to git, such as a branch, means the runs of the commit at which HEAD
 * left that branch. PK_E_NOT_COMPARABLE when there is no run but those of `except`. */
enum pk_code pk_stored_base(const struct pk_run_source *from, const char *ref, const struct pk_entry_name *of,
                            const struct pk_stored_side *except, struct pk_stored_side *side,
                            struct pk_err *err) PK_MUST_CHECK;

struct pk_stored_pair {
    struct pk_stored_side base, new_;
    struct pk_comparison comparison;
    struct pk_comparison counters;
    const char *const *differences; /* of machines and settings, and axes that new lacks */
    size_t n_differences;
    bool refused; /* because of them no row is judged */
    struct pk_err
        not_comparable;   /* not all that is selected is on both sides, or nothing is; code 0 = no error */
    struct pk_errs wrong; /* with thresholds: the last of them is the error */
    const char *unknown_metrics; /* a sentence: metrics of the gate that no case has; NULL = none */
    bool equal;                  /* the sides of a gate that found them equal: no row is judged */
};
/* Judged and sorted. Two sides of one gate are judged as it did. What new lacks is no error here: `not_comparable` has the error. */
enum pk_code pk_stored_compare(const struct pk_run_source *from, const char *base, const char *new_,
                               const struct pk_verdict_options *o, const struct pk_threshold *thresholds,
                               struct pk_stored_pair *out, struct pk_err *err) PK_MUST_CHECK;
/* An entry of a suite, not judged yet: the rows of all are one family. */
enum pk_code pk_stored_entry(const struct pk_run_source *from, const char *base, const char *new_,
                             const struct pk_entry_name *of, const struct pk_verdict_options *o,
                             struct pk_stored_pair *out, struct pk_err *err) PK_MUST_CHECK;

/* What two recordings say, what they cannot, and the one command that settles it; NULL where the rows were judged. */
const char *pk_stored_advice(const struct pk_stored_pair *p, struct pk_arena *a);
/* Why cases are unmatched: with which options each side was measured; NULL when none is. */
const char *pk_stored_unmatched(const struct pk_stored_pair *p, struct pk_arena *a);

/* Whether no case of the one side can be compared with a case of the other, with the reason in err. False when a side cannot be read. */
bool pk_stored_not_comparable(const struct pk_run_source *from, const char *base, const char *new_,
                              struct pk_err *err);

/* The exit status with --exit-code: PK_E_CHECK when a case that ended ok in base did not in new; PK_E_NOT_COMPARABLE when no row may be
 * judged; PK_E_NOTHING when there is no row and all that is missing is allowed; that of the outcome. */
enum pk_code pk_stored_outcome(const struct pk_stored_pair *p, const struct pk_verdict_options *o,
                               struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;

/* --- the entries of a suite, judged as one family --- */

struct pk_stored_suite {
    const char *name;             /* for messages */
    struct pk_stored_pair *pairs; /* of each entry, by pk_stored_entry */
    struct pk_arena *arena;
    const struct pk_compare_part *parts; /* from here on: set by pk_stored_suite_judge */
    size_t n;
    struct pk_comparison all; /* with what is unmatched in all entries */
    struct pk_errs wrong;     /* with thresholds: the last of them is the error */
};

/* Parts of the family are in the order of the pairs; their comparisons are those of the pairs. */
enum pk_code pk_stored_suite_judge(struct pk_stored_suite *s, const struct pk_compare_family *family,
                                   struct pk_err *err) PK_MUST_CHECK;
/* Without a suite, whose name is NULL then: the pair is judged, by pk_stored_compare. */
void pk_stored_suite_of_one(struct pk_stored_suite *s);
/* The judged rows of an entry, as pk_store_baseline_verdicts takes them; none when the rows are not judged, have the verdicts of a gate that
 * measured both sides, or when new is several runs. Returns how many. */
size_t pk_stored_verdicts(const struct pk_stored_suite *s, size_t entry, const struct pk_rule *rule,
                          struct pk_verdict_row **rows, struct pk_verdict_base *base);
enum pk_code pk_stored_suite_outcome(const struct pk_stored_suite *s, const struct pk_verdict_options *o,
                                     struct pk_err *err) PK_MUST_CHECK;
