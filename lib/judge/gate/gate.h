/* Gate: two sides measured in interleaved pairs of fresh processes, until every row has its verdict.
 *
 * What is measured has one part, or one for each entry of a suite. The rows of all parts are one family: they share the risk of a false
 * alarm.
 *
 * A pair is a process of base and one of new, for each part that still needs pairs, in the order of pk_pair_order. The first process of each
 * side and part warms up (page cache, libraries, clocks): its samples are recorded as warm-up and not judged, and it is no pair. All cases are
 * screened; suspicious cases are measured again with fresh pairs (by the rule of stats/verdict/verdict.h). A disturbed pair is left out,
 * by a rule that does not know the sides, and replaced. */
#pragma once

#include "bench/plan/plan.h"
#include "judge/criteria/criteria.h"
#include "judge/gate/gate_samples.h"
#include "judge/report/report.h"
#include "json/json.h"

/* One process of a side. */
struct pk_gate_turn {
    int invocation;
    bool warmup; /* its samples are recorded as warm-up (wire/slice.h) and not judged */
    const bool *wanted;
};

/* Side runner: has one process after the other measure a side. */
struct pk_side_runner;
struct pk_side_runner_kind {
    /* One new process measures the wanted cases of its part; the slice of each case is added to the samples and to the store. Ends
     * early, with PK_OK, when the stop flag is set. Errors are the recorder's. */
    enum pk_code (*process)(struct pk_side_runner *runner, const struct pk_gate_turn *turn,
                            struct pk_err *err);
    void (*end)(struct pk_side_runner *runner);
};
struct pk_side_runner {
    const struct pk_side_runner_kind *kind;
    struct pk_gate_samples *samples;
    size_t part;
    int side;
    const volatile int *stop_flag;
    void *state;               /* of the kind */
    const char *option, *text; /* for messages: "a", "build-main" */
};

struct pk_gate_events {
    /* After each pair, the warm-up pair included; may be NULL. `total` is what is known to be wanted. */
    void (*pair)(void *user, size_t done, size_t total, int64_t left_ns);
    void *user;
};

struct pk_gate_part {
    const char *name; /* of the suite's entry; NULL = no suite */
    struct pk_side_runner runners[PK_SIDES];
    struct pk_compare_options what;
    bool commands;               /* not cases of an experiment */
    struct pk_criteria criteria; /* of its rows */
    size_t max_pairs;            /* of each of its rows; 0 = the rule's */
    int64_t budget_ns;           /* 0 = none */
};

struct pk_gate_options {
    struct pk_rule rule;
    int64_t budget_ns; /* 0 = none; no pair is started that would probably end after it */
    uint64_t seed;     /* of the order of the turns */
};

struct pk_gate_result {
    struct pk_comparison comparison; /* n = 0: no row was measured on both sides */
    size_t pairs;                    /* begun and ended; without the warm-up pair */
    size_t warmup_pairs;             /* 1, unless it was interrupted before */
    int64_t screened;                /* the last invocation of the screening; 0 = nothing was confirmed */
    bool interrupted;
    bool out_of_time;      /* of all, or of a part: rows still wanted pairs */
    struct pk_err refused; /* code not 0: the sides cannot be compared, and unmatched rows say why */
    struct pk_errs wrong;  /* errors of the options: the last one is returned */
};

/* All sides are ended. PK_E_USAGE for a metric that neither side has, or that has no direction, and for a threshold that matches no row,
 * if all cases of a part ended ok. PK_E_NOT_COMPARABLE, here or in out->refused, when the sides report a requested metric in different
 * units or directions, or without a value. Otherwise the errors of the sides. */
enum pk_code pk_gate_run(struct pk_gate_part *parts, size_t n_parts, struct pk_gate_samples *samples,
                         const struct pk_gate_options *o, const struct pk_gate_events *ev, struct pk_arena *a,
                         struct pk_gate_result *out, struct pk_err *err) PK_MUST_CHECK;

/* --- what came of it (gate_outcome.c) --- */

struct pk_ended_gate {
    const struct pk_gate_part *parts;
    const struct pk_gate_samples *samples;
    const struct pk_gate_result *result;
    const char *again;  /* a command that prints it again; NULL = none */
    const char *stored; /* commands that print what is stored: "`perfkit show 1`"; NULL = nothing is */
    struct pk_arena *arena;
};

/* Cases of a side that did not end ok, in their order; then what base has and new lacks. */
const struct pk_failure *pk_gate_failures(const struct pk_ended_gate *g, size_t *n);

/* The error of refused sides, PK_E_INTERRUPTED, PK_E_CHECK for a side that failed, PK_E_NOTHING where nothing was measured on both sides
 * and nothing is missing; else PK_OK. */
enum pk_code pk_gate_ended(const struct pk_ended_gate *g, struct pk_err *err) PK_MUST_CHECK;

/* --- cases.c: the cases that both sides of a gate of an experiment have, and the rows that it will have: metrics and thresholds that fit none of
 * them are refused before anything is measured; what a command reports is known when it has run --- */

struct pk_gate_plan {
    const char *option;   /* "a" */
    const char *settings; /* "dtype=bf16 variant=flash", which its cases have; NULL = it is a build */
    struct pk_case_plan *plan;
};

/* Keeps only the cases that both sides have, in the same order in both plans, and adds them to the samples. *warning: a sentence when
 * some were left out, else NULL. PK_E_USAGE when one side sets an axis of which the other has several values; PK_E_NOT_COMPARABLE when
 * no case is left. */
enum pk_code pk_gate_match_cases(const struct pk_gate_plan side[PK_SIDES], struct pk_gate_samples *l,
                                 size_t part, const char **warning, struct pk_err *err) PK_MUST_CHECK;

/* Whether matched cases are the same on both sides, so that differences are noise. */
bool pk_gate_same_cases(const struct pk_gate_plan side[PK_SIDES], struct pk_arena *a);

/* Sets all but `place` and the thresholds of *out. Case i of the plan, which is that of either side, is the samples' case first + i. *what is
 * borrowed. */
void pk_expected_of_plan(const struct pk_case_plan *plan, const struct pk_gate_samples *l, size_t first,
                         const struct pk_compare_options *what, struct pk_arena *a,
                         struct pk_expected_rows *out);

/* --- same_program.c: whether two command lines must do the same work, so that what differs between them is noise --- */

/* The words are equal, and the program is one file under one name, so files that it searches near itself are the same, too. Two files
 * are the same program when they have one name, equal bytes and equal libraries, and lie in working trees of one commit without changes.
 * Both are started in one folder with one environment. In doubt they are not the same: this costs pairs, while the opposite error would
 * hide a regression. */
bool pk_same_program(const char *const *a_words, const char *const *b_words, struct pk_arena *a);

/* --- gate_pair.c: what is recorded of a gate, so that its two runs are judged later as it judged them --- */

/* The record of the gate in the settings of its runs. */
struct pk_gate_mark {
    const char *id;   /* of the gate */
    const char *side; /* "base", "new" */
    const char *text; /* of --a or --b */
    struct pk_rule rule;
    struct pk_criteria criteria; /* of its rows */
    struct pk_texts metrics;
    bool all_metrics;
    bool equal;       /* both sides are the same thing */
    bool calibration; /* what is measured is the noise, as `@` knows */
};
json_t *pk_gate_mark_json(const struct pk_gate_mark *m);

struct pk_gate_pair {
    struct pk_judging judging; /* the criteria for runs that are not of one gate */
    const char *const *metrics;
    size_t n_metrics;
    bool all_metrics;
    struct pk_criteria criteria;
};

/* Whether both runs are of one gate: they were measured in turns. */
bool pk_gate_pair_read(const struct pk_run_facts *base, const struct pk_run_facts *new_, struct pk_arena *a,
                       struct pk_gate_pair *out);

/* A judged row, without the cases of its sides. */
struct pk_verdict_row pk_verdict_row(const struct pk_compared *r, const struct pk_rule *rule,
                                     struct pk_arena *a);

/* The judged rows of a part, as pk_store_verdicts takes them. plans: of both sides, whose case i is the samples' case first + i; NULL for
 * commands. Returns how many. */
size_t pk_gate_verdicts(const struct pk_comparison *c, const struct pk_gate_samples *l, size_t part,
                        const struct pk_case_plan *const plans[PK_SIDES], size_t first,
                        const struct pk_rule *rule, struct pk_arena *a, struct pk_verdict_row **rows);
