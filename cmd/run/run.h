/* Run: what the files of this folder share. */
#pragma once

#include "bench/client/ceilings_store.h"
#include "bench/plan/estimate.h"
#include "bench/record/runinfo.h"
#include "bench/session/session.h"
#include "bench/worker/launch.h"
#include "cmd/cmd.h"
#include "judge/criteria/criteria.h"
#include "ops/ceilings.h"
#include "stats/verdict/verdict.h"
#include "json/json.h"

struct run_options {
    struct pk_texts axes, variants, peers, tags;
    const char *suite, *preset, *device, *filter, *label, *python, *counters, *bind;
    bool breakdown, allocations, dry_run, resume, once, cold, no_check, no_save;
    int64_t min_samples, max_samples, min_time_ns, max_time_ns, warmup, invocations;
    int64_t budget_ns, timeout_ns, peer_startup_ns, threads, limit_bytes, seed;
    double max_noise;
};

/* What the two runs of a gate have in common; recorded in their settings. */
struct pk_gate_mark {
    const char *id;   /* NULL = no gate */
    const char *side; /* "base", "new" */
    const char *text; /* of --a or --b */
    struct pk_rule rule;
    struct pk_criteria criteria; /* of its rows */
    struct pk_texts metrics;
    bool all_metrics;
    bool equal; /* both sides are the same thing */
};

/* Everything one run needs, in the order it comes to be. */
struct run {
    struct pk_app *app;
    struct run_options *o;
    const struct pk_probe *probe;
    struct pk_device_options device_options;
    const char *device;
    unsigned ordinal;          /* of the device */
    const char *device_absent; /* why it cannot be used here, where that is no hindrance; NULL = it can */
    struct pk_run_info info;
    struct pk_store *store;
    struct pk_ceilings_known ceilings;
    const char *ceilings_key;
    struct pk_plan plan;
    const struct pk_plan *said; /* of another side: what follows from both is said once; NULL = none */
    struct pk_duration duration;
    uint64_t began_ns;
    struct pk_provider *providers; /* perfkit itself, then the peers */
    size_t n_providers;
    struct pk_case_info *cases;
    int64_t run_id, *case_ids;
    struct pk_done *done; /* --resume: what each case has already */
    const char *store_path;
    struct pk_gate_mark mark;    /* of a side of a gate */
    struct pk_counters counters; /* what --counters asks for */
    struct pk_recorder *recorder;
    struct pk_session_result result;
    struct pk_launched launched;
};

/* experiment.c: the steps for r->probe. What is wrong with the options alone; with r->store open all else that can be wrong before anything is
 * measured; then the measuring, or what --dry-run prints. */
enum pk_code pk_run_check(struct run *r, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_run_prepare(struct run *r, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_run_measure(struct run *r, struct pk_err *err) PK_MUST_CHECK;

/* Where mpirun or srun started this command on every rank: the number of ranks is that of the launcher; of invocations there is one; and
 * what a rank but 0 does instead of the run. */
void pk_run_take_ranks(struct run *r);
enum pk_code pk_run_follow(struct run *r, struct pk_err *err) PK_MUST_CHECK;

/* plan.c: device and preset are chosen where nothing was asked for; the cases. */
struct pk_stop pk_run_stop_rule(const struct run_options *o);
enum pk_code pk_run_choose_device(struct run *r, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_run_stored_ceilings(struct run *r, struct pk_err *err) PK_MUST_CHECK;
/* When the store has none for this device, or those it has want another repeat. */
enum pk_code pk_run_measure_ceilings(struct run *r, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_run_make_plan(struct run *r, struct pk_err *err) PK_MUST_CHECK;
/* With the ceilings there are: how long cases take at least, and which cannot end in time. */
void pk_run_estimate(struct run *r);
void pk_run_warn_of_long_cases(const struct run *r);
/* About how long the run will take. */
enum pk_code pk_run_duration(struct run *r, struct pk_err *err) PK_MUST_CHECK;
const char *pk_run_extent(const struct run *r); /* "27 cases x 3 processes, about 38 s" */

/* dry.c: --dry-run. */
void pk_run_print_plan(const struct run *r);
/* "measured", or why not, or on what that hangs which is not known here. */
const char *pk_run_outlook(const struct run *r, const struct pk_planned *p, struct pk_arena *a);
/* What the plan does not know of its device; NULL = nothing. */
const char *pk_run_device_note(const struct run *r);
/* Begins a table of cases. Its title says device, preset and the axes in which all agree; the column "case" is for programs alone
 * where they agree in all. */
void pk_run_case_table(const struct run *r, const char *name, const struct pk_column *cols, size_t n);

/* refused.c: a line about cases that are too large, when others are tried; PK_E_NOTHING, and why. */
void pk_run_note_too_large(const struct run *r);
void pk_run_note_fitting(const struct run *r); /* likewise, under what --dry-run prints */
enum pk_code pk_run_nothing_measured(const struct run *r, struct pk_err *err) PK_MUST_CHECK;

/* record.c: a new run, or an interrupted one again. */
enum pk_code pk_run_begin(struct run *r, struct pk_err *err) PK_MUST_CHECK;
json_t *pk_gate_mark_json(const struct pk_gate_mark *m);
const char *pk_run_settings(const struct run *r); /* as they are recorded: a JSON object */
enum pk_code pk_run_find_resumable(struct run *r, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_run_resume(struct run *r, struct pk_err *err) PK_MUST_CHECK;

/* once.c: --once. */
enum pk_code pk_run_once(struct run *r, struct pk_err *err) PK_MUST_CHECK;

/* options.c: tables for the options of commands that measure cases; into struct run_options. */
extern const struct pk_opt pk_run_grid_rows[], pk_run_place_rows[], pk_run_process_rows[],
    pk_run_device_rows[];
