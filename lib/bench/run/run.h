/* Run: one experiment's run, from its options to stored rows: device and plan, the record, the session, the outcome.
 *
 *   plan.c    the device, ceilings, cases, and approximately how long they take
 *   record.c  what is stored before measuring, for a new run or a resumed one
 *   run.c     the steps in their order
 *   notes.c   the messages about these steps
 *   names.c   the names that complete an argument or an option
 *
 * Callers: `run`, and both sides of a gate. Steps: prepare (everything that can fail before anything is measured), begin or resume, session,
 * finish, outcome. */
#pragma once

#include "bench/client/ceilings_store.h"
#include "bench/own/own.h"
#include "bench/plan/estimate.h"
#include "bench/record/runinfo.h"
#include "bench/session/session.h"
#include "bench/worker/start_ranks.h"
#include "opt/opt.h"

struct pk_run_options {
    struct pk_texts axes, variants, peers, tags, tables;
    const char *suite, *preset, *device, *filter, *label, *python, *counters, *bind;
    bool breakdown, allocations, dry_run, resume, once, cold, no_check, no_save;
    int64_t min_samples, max_samples, min_time_ns, max_time_ns, warmup, invocations;
    int64_t budget_ns, timeout_ns, peer_startup_ns, threads, limit_bytes, seed;
    int64_t profile; /* iterations for a profiler outside; 0 = measure. `once` is 1 of them */
    double max_noise;
};

/* Everything that one run needs, in the order of creation. */
struct pk_run {
    struct pk_arena *arena;
    struct pk_run_options *o;
    struct pk_opt_table
        *table; /* of o: a preset and an interrupted run set the options that were not given */
    int argc;
    const char **argv; /* as typed, for the record */
    const volatile int *stop_flag;
    void (*message)(void *user, bool warning, const char *text); /* what was chosen, and what is doubtful */
    void *user;
    const struct pk_probe *probe;
    struct pk_device_options device_options;
    const char *device;
    unsigned ordinal; /* of the device */
    const char
        *device_unavailable; /* why it cannot be used here, when that is no error; NULL = it can be used */
    struct pk_run_info info;
    struct pk_store *store;
    struct pk_stored_ceilings ceilings;
    const char *ceilings_key;
    struct pk_case_plan plan;
    const struct pk_case_plan *shown; /* of another side: its messages are not repeated; NULL = none */
    struct pk_duration duration;
    uint64_t began_ns;
    struct pk_provider
        *providers; /* perfkit itself, or the program that described the experiment; then the peers */
    size_t n_providers;
    struct pk_case_info *cases;
    int64_t run_id, *case_ids;
    struct pk_case_progress *done; /* --resume: what each case has already */
    const char *store_path;
    const char *gate;            /* for a side of a gate: its record of the gate, JSON; NULL = no gate */
    struct pk_counters counters; /* what --counters asks for */
    struct pk_recorder *recorder;
    struct pk_session_result result;
    struct pk_launcher launcher; /* by mpirun or srun, on every rank */
};

/* --- run.c --- */

enum pk_code pk_run_prepare(struct pk_run *r, struct pk_err *err) PK_MUST_CHECK;
/* Measures the plan; r->recorder is the caller's. */
enum pk_code pk_run_session(struct pk_run *r, const struct pk_session_events *events,
                            struct pk_err *err) PK_MUST_CHECK;
/* Of a run that begins: --seed where it is given, else 31 bits of the run's uuid, so that no two runs have the same order. */
uint64_t pk_run_order_seed(struct pk_store *s, const struct pk_opt_table *table, int64_t seed);
enum pk_code pk_run_record_order_seed(struct pk_recorder *rec, uint64_t seed, struct pk_arena *a,
                                      struct pk_err *err) PK_MUST_CHECK;
/* "complete" or "interrupted". */
const char *pk_run_status(const struct pk_run *r);
/* Fits, counters, and that it is over. */
enum pk_code pk_run_finish(struct pk_run *r, struct pk_err *err) PK_MUST_CHECK;
/* Of a run whose tables were printed: PK_E_INTERRUPTED, PK_E_CHECK when a case failed, PK_E_NOTHING; or why slices were not recorded. */
enum pk_code pk_run_outcome(const struct pk_run *r, struct pk_err *err) PK_MUST_CHECK;

/* When a launcher started this process on every rank: the number of ranks is the launcher's, unless an axis gives another, and there is
 * one invocation. */
void pk_run_take_ranks(struct pk_run *r);
bool pk_run_has_ranks(const struct pk_run *r);

/* --- plan.c: chooses device and preset where none was given; the cases --- */

struct pk_stop pk_run_stop_rule(const struct pk_run_options *o);
enum pk_code pk_run_choose_device(struct pk_run *r, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_run_stored_ceilings(struct pk_run *r, struct pk_err *err) PK_MUST_CHECK;
/* When the store has none for this device, or they need another repetition. */
enum pk_code pk_run_measure_ceilings(struct pk_run *r, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_run_make_plan(struct pk_run *r, struct pk_err *err) PK_MUST_CHECK;
/* With the available ceilings: the minimum time of cases, and which cannot end in time. */
void pk_run_estimate(struct pk_run *r);
void pk_run_warn_of_long_cases(const struct pk_run *r);
/* About how long the run will take. */
enum pk_code pk_run_duration(struct pk_run *r, struct pk_err *err) PK_MUST_CHECK;
const char *pk_run_extent(const struct pk_run *r); /* "27 cases x 3 processes, about 38 s" */

/* --- record.c: a new run, or an interrupted one again --- */

enum pk_code pk_run_begin(struct pk_run *r, struct pk_err *err) PK_MUST_CHECK;
const char *pk_run_settings(const struct pk_run *r); /* as they are recorded: a JSON object */
enum pk_code pk_run_find_resumable(struct pk_run *r, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_run_resume(struct pk_run *r, struct pk_err *err) PK_MUST_CHECK;

/* --- notes.c --- */

void pk_run_note(const struct pk_run *r, const char *fmt, ...) PK_PRINTF(2, 3);
void pk_run_warn(const struct pk_run *r, const char *fmt, ...) PK_PRINTF(2, 3);

/* Says how many cases are too large, when others are tried. */
void pk_run_note_too_large(const struct pk_run *r);
/* The same as a sentence to print under the plan; NULL = none is too large. */
const char *pk_run_fitting_text(const struct pk_run *r);
/* PK_E_NOTHING, and why. */
enum pk_code pk_run_nothing_measured(const struct pk_run *r, struct pk_err *err) PK_MUST_CHECK;

/* Requested events that cannot be counted here: a sentence for each reason, also stored as the run's setting "not_counted". */
struct pk_texts pk_run_unavailable(const struct pk_counters *c, struct pk_arena *a);
enum pk_code pk_run_record_unavailable(struct pk_store *s, int64_t run_id, const struct pk_counters *c,
                                       struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;

/* --- names.c: what exists of each kind of thing that options and arguments name: for completion --- */

/* A kind is called as in the option rows and the usage of commands: RUN, BASE, NEW, LABEL, BASELINE, METRIC, COUNTER, SOURCE, EXPERIMENT,
 * PEER, DEVICE, VARIANT, PRESET, AXIS, VALUES (of an axis), FORMAT. Names of a store are a stranger's text: they may have anything in
 * them. */
struct pk_completions {
    const char *db;               /* --db; NULL = where the store is by default */
    const struct pk_probe *probe; /* of variants, presets, metrics and axes; NULL = none */
    const char *axis;             /* of VALUES */
    struct pk_arena *arena;
    struct pk_store *store; /* opened when it is needed, as an untrusted file; the caller closes it */
    struct pk_texts v;      /* the names */
};

/* Adds the names of a kind; none of one that is not known, and none of a store that cannot be read. */
void pk_completions_add(struct pk_completions *n, const char *kind);
