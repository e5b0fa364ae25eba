/* Gate: two sides measured in interleaved pairs of fresh processes, until every row has its verdict.
 *
 * What is measured has one part, or one for each entry of a suite. The rows of all parts are one family: they share the risk of a false
 * alarm.
 *
 * A pair is a process of base and one of new, for each part that still needs pairs, in the order of pk_pair_order. All cases are
 * screened; suspicious cases are measured again with fresh pairs (by the rule of stats/verdict/verdict.h). A disturbed pair is left out,
 * by a rule that does not know the sides, and replaced. */
#pragma once

#include "bench/plan/plan.h"
#include "judge/criteria/criteria.h"
#include "judge/gate/gate_samples.h"
#include "judge/report/report.h"

/* One side: how to have one process measure. */
struct pk_arm;
struct pk_arm_kind {
    /* One new process measures the wanted cases of its part; the slice of each case is added to the samples and to the store. Ends
     * early, with PK_OK, when the stop flag is set. Errors are the recorder's. */
    enum pk_code (*process)(struct pk_arm *arm, int invocation, const bool *wanted, struct pk_err *err);
    void (*end)(struct pk_arm *arm);
};
struct pk_arm {
    const struct pk_arm_kind *kind;
    struct pk_gate_samples *samples;
    size_t part;
    int side;
    const volatile int *stop_flag;
    void *state;               /* of the kind */
    const char *option, *text; /* for messages: "a", "build-main" */
};

struct pk_gate_events {
    /* After each pair; may be NULL. `total` is what is known to be wanted. */
    void (*pair)(void *user, size_t done, size_t total, int64_t left_ns);
    void *user;
};

struct pk_gate_part {
    const char *name; /* of the suite's entry; NULL = no suite */
    struct pk_arm arms[PK_SIDES];
    struct pk_compare_options what;
    bool commands; /* not cases of an experiment */
    const struct pk_threshold
        *thresholds; /* of its rows; they come before those of all (pk_criteria_apply) */
    size_t n_thresholds;
    double min_effect; /* of its rows; 0 = the rule's */
    size_t max_pairs;  /* of each of its rows; 0 = the rule's */
    int64_t budget_ns; /* 0 = none; likewise */
};

struct pk_gate_options {
    struct pk_rule rule;
    const struct pk_threshold *thresholds; /* of the rows of all parts */
    size_t n_thresholds;
    bool typed;        /* they are stronger than a part's min_effect */
    int64_t budget_ns; /* 0 = none; no pair is started that would probably end after it */
    uint64_t seed;
};

struct pk_gate_result {
    struct pk_comparison comparison; /* n = 0: no row was measured on both sides */
    size_t pairs;                    /* begun and ended */
    int64_t screened;                /* the last pair of the screening; 0 = nothing was confirmed */
    bool interrupted;
    bool out_of_time;     /* of all, or of a part: rows still wanted pairs */
    struct pk_errs wrong; /* errors of the options: the last one is returned */
};

/* All arms are ended. PK_E_USAGE for a metric that neither side has, or that has no direction, and for a threshold that matches no row,
 * if all cases of a part ended ok. PK_E_NOT_COMPARABLE when the sides report a requested metric in different units or directions, or
 * without a value. Otherwise the errors of the arms. */
enum pk_code pk_gate_run(struct pk_gate_part *parts, size_t n_parts, struct pk_gate_samples *samples,
                         const struct pk_gate_options *o, const struct pk_gate_events *ev, struct pk_arena *a,
                         struct pk_gate_result *out, struct pk_err *err) PK_MUST_CHECK;

/* The judged rows of a part, as pk_store_verdicts takes them. plans: of both sides, whose case i is the samples' case first + i; NULL for
 * commands. Returns how many. */
size_t pk_gate_verdicts(const struct pk_comparison *c, const struct pk_gate_samples *l, size_t part,
                        const struct pk_plan *const plans[PK_SIDES], size_t first, const struct pk_rule *rule,
                        struct pk_arena *a, struct pk_verdict_row **rows);

/* --- what came of it (gate_outcome.c) --- */

struct pk_ended_gate {
    const struct pk_gate_part *parts;
    const struct pk_gate_samples *samples;
    const struct pk_gate_result *result;
    const char *again; /* a command that prints it again; NULL = none */
    struct pk_arena *arena;
};

/* Cases of a side that did not end ok, in their order. */
const struct pk_failure *pk_gate_failures(const struct pk_ended_gate *g, size_t *n);

/* Metrics that only one side reports, as sentences: they are not compared, and must not be confused with others. */
enum { PK_ONE_SIDED_NOTES = 4 };
size_t pk_gate_one_sided(const struct pk_ended_gate *g, const char **notes);

/* PK_E_INTERRUPTED, PK_E_CHECK for a side that failed, PK_E_NOTHING where nothing was measured on both sides; else PK_OK. */
enum pk_code pk_gate_ended(const struct pk_ended_gate *g, struct pk_err *err) PK_MUST_CHECK;
