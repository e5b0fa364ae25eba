/* Figures: the measured values of a run as plain structs, for comparisons and fits.
 *
 * They have only cases whose status is ok, and only numbers. Everything is in the caller's arena. */
#pragma once

#include "stats/verdict/verdict.h"
#include "store/store.h"

/* One metric of one case: its figure in each invocation. */
struct pk_figures {
    const char *experiment;
    int64_t revision;
    int64_t ordinal; /* of the case in its run */
    const char *variant, *device;
    const char *axes, *identity; /* JSON */
    const char *metric, *unit, *direction, *class, *source;
    double median; /* over the invocations, as stored */
    size_t n;      /* >= 1 */
    const double *figure;
    const int64_t *invocation; /* of figure[i], ascending */
    const struct pk_run_processes
        *runs; /* where figures are those of runs: what figure[i] is the mean of; else NULL */
    const double *tail[PK_TAILS]; /* of each of these processes; NaN, or NULL for all, where there is none */
    size_t samples;               /* the fewest of a process */
    size_t processes,
        measured; /* processes that could have given a figure, and those that did; 0 = not known */
    bool
        unstable; /* more than half of its slices were measured while the device throttled itself, or slowed down (wire/slice.h) */
};

/* In the order of the cases, then by the name of the metric. *cases_ok is the number of cases whose timing passes ended ok. */
enum pk_code pk_store_figures(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                              struct pk_figures **figures, size_t *n, int64_t *cases_ok,
                              struct pk_err *err) PK_MUST_CHECK;
/* A case that did not end ok. */
struct pk_unfinished_case {
    struct pk_figures of; /* which one; without a metric */
    const char *status, *message;
};
/* In the order of the cases. A case that was not measured yet has the status "running". */
enum pk_code pk_store_unfinished(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                 const struct pk_unfinished_case **v, size_t *n,
                                 struct pk_err *err) PK_MUST_CHECK;

/* How many cases of the run have the status ok in v_case. */
enum pk_code pk_store_cases_ok(struct pk_store *s, int64_t run_id, int64_t *n,
                               struct pk_err *err) PK_MUST_CHECK;

/* Cases that differ in x only, with a median of the metric each: x ascending. x is the axis of that name or, where the cases
 * have none, their median of the metric of that name. */
struct pk_fit_group {
    const char *experiment, *variant, *device;
    const char *fixed; /* JSON of the axes that are equal */
    size_t n;
    const double *x, *y;
};
/* ignore: names of axes, with a space between them, that may differ too; may be NULL. */
enum pk_code pk_store_fit_groups(struct pk_store *s, int64_t run_id, const char *metric, const char *x,
                                 const char *ignore, struct pk_arena *a, struct pk_fit_group **groups,
                                 size_t *n, struct pk_err *err) PK_MUST_CHECK;

/* What its counter passes counted, in the order of cases, regions, groups and names: a figure per value, without direction. metric is
 * "forward.page_faults", of a group's metric "forward.cpu-basic.ipc"; class is the group, "" of an event. A run without --counters has none,
 * which takes no time to find out. */
enum pk_code pk_store_counter_figures(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                      const struct pk_figures **figures, size_t *n,
                                      struct pk_err *err) PK_MUST_CHECK;

/* How long the kernels or ops of one name took in a region of a traced case (v_kernel). */
struct pk_kernel_figure {
    const char *variant, *axes, *region, *name;
    int64_t time_ns;
};
enum pk_code pk_store_kernels(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                              struct pk_kernel_figure **kernels, size_t *n, struct pk_err *err) PK_MUST_CHECK;

/* Facts about a run. */
struct pk_run_facts {
    int64_t run_id;
    const char *uuid; /* names the run in other stores, too */
    const char *experiment;
    const char *label; /* NULL = none */
    const char *entry; /* of a suite; NULL = none */
    const char *started_at, *status, *version;
    const char *git_commit;         /* 12 digits, '+' behind a dirty one; NULL = none */
    const char *machine, *settings; /* JSON objects */
    const char *
        worker_facts; /* JSON object of what its workers said: the values of each key, " | " between different ones */
    int64_t cases;
    int64_t cases_ok; /* the caller's: pk_store_figures or pk_store_cases_ok */
};
enum pk_code pk_store_run_facts(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                struct pk_run_facts *facts, struct pk_err *err) PK_MUST_CHECK;
