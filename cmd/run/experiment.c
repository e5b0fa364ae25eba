/* Run, experiment: the steps of one run. Plans in this process, measures in workers, stores every slice as it is finished. What it chose
 * for the user (device, preset, store) is said on stderr. */
#include "cmd/run/run.h"

#include "base/clock.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "bench/record/counters.h"
#include "bench/record/fits.h"
#include "bench/tables/tables.h"
#include "bench/worker/worker.h"
#include "cmd/frame/progress.h"
#include "cmd/run/unavailable_counters.h"

#include <string.h>

/* What was chosen for the user. */
static void announce(const struct run *r)
{
    pk_note(r->app, "%s on %s, preset %s: %s; %s %s", r->probe->name, r->device, r->plan.preset->name,
            pk_printf(r->app->arena, "%s%s", pk_run_extent(r), r->o->cold ? ", cold caches" : ""),
            r->o->no_save ? "not" : "recording into", r->o->no_save ? "recorded" : r->store_path);
}

/* How it went and how to see it again, said when the tables are out. */
static const char *closing_note(const struct run *r)
{
    const struct pk_session_result *s = &r->result;
    struct pk_arena *a = r->app->arena;
    char took[32];
    pk_format_ns((double)(pk_clock_ns() - r->began_ns), took, sizeof took);
    const char *what = pk_printf(a, "%s measured, %s in %s", pk_plural(s->ok, "case", a),
                                 pk_plural(s->samples, "sample", a), took);
    if (r->o->no_save)
        return pk_printf(a, "%s; not recorded", what);
    const char *origin = pk_opt_origin(r->app->tables, 2, "db");
    bool elsewhere = origin && !strcmp(origin, "command line");
    return pk_printf(a, "run %lld%s%s: %s; `perfkit show %lld%s%s` prints it again", (long long)r->run_id,
                     r->o->label ? " " : "", r->o->label ? r->o->label : "", what, (long long)r->run_id,
                     elsewhere ? " --db " : "", elsewhere ? r->app->globals->db : "");
}

/* What cannot be counted here is said, and the rest is counted. */
static enum pk_code select_counters(struct run *r, struct pk_err *err)
{
    const char *const text = r->o->counters;
    struct pk_counters *c = &r->counters;
    struct pk_counter_env env = pk_counter_host;
    env.gpu = r->ordinal;
    if (!text)
        return PK_OK;
    if (pk_counters_select(&env, text, r->app->arena, c, err))
        return err->code;
    pk_unavailable_counters_warn(r->app, c);
    return PK_OK;
}

/* --peer takes a list, as --variant does, and may be given again: one name each, and each once. */
static void split_peers(struct run *r)
{
    struct pk_arena *a = r->app->arena;
    const struct pk_texts given = r->o->peers;
    r->o->peers = (struct pk_texts){0};
    for (size_t i = 0; i < given.n; i++)
        for (const char *rest = given.v[i], *name; (name = pk_next_part(&rest, ',', a));)
            if (!pk_texts_has(&r->o->peers, name))
                pk_texts_add(&r->o->peers, name, a);
}

static enum pk_code find_providers(struct run *r, struct pk_err *err)
{
    const struct pk_texts *peers = &r->o->peers;
    split_peers(r);
    r->n_providers = peers->n + 1;
    r->providers = pk_new_n(r->app->arena, struct pk_provider, r->n_providers);
    r->providers[0] = pk_native_provider;
    enum pk_code rc = PK_OK;
    for (size_t i = 0; !rc && i < peers->n; i++)
        rc = pk_peer_provider(peers->v[i], r->o->python, r->app->arena, &r->providers[i + 1], err);
    return rc;
}

static enum pk_code measure(struct run *r, struct pk_err *err)
{
    const struct run_options *o = r->o;
    const struct pk_session_options so = {
        .stop = pk_run_stop_rule(o),
        .invocations = (int)o->invocations,
        .budget_ns = o->budget_ns,
        .timeout_ns = o->timeout_ns,
        .peer_startup_ns = o->peer_startup_ns,
        .seed = (uint64_t)o->seed,
        .check = !o->no_check,
        .device = r->device_options,
        .counters = o->counters ? &r->counters : NULL,
        .breakdown = o->breakdown,
        .memory = o->allocations,
    };
    struct pk_progress progress;
    pk_progress_begin(&progress, r->app);
    const struct pk_session_events events = {pk_progress_slice, pk_progress_warning, &progress};
    enum pk_code rc = pk_session_run(&r->plan, &so, r->providers, r->n_providers, r->recorder, r->run_id,
                                     r->case_ids, r->done, &events, &pk_stop_flag, &r->result, err);
    pk_progress_end(&progress);
    return rc;
}

/* Fits are rows; the tables read them from the store like everything else. */
static enum pk_code finish(struct run *r, struct pk_err *err)
{
    const char *status = r->result.interrupted ? "interrupted" : "complete";
    static const struct pk_setting uncounted = {0, "uncounted", "a counter pass took too long or failed"};
    enum pk_code rc = pk_record_fits(r->store, r->run_id, r->probe, r->app->arena, err);
    if (!rc && r->result.uncounted)
        rc = pk_store_settings(r->store, r->run_id, &uncounted, 1, err);
    if (!rc)
        rc = pk_record_counters(r->store, r->run_id, &r->plan, r->case_ids, &r->counters, &r->ceilings.top,
                                r->app->arena, err);
    return rc ? rc : pk_store_run_end(r->store, r->run_id, status, err);
}

/* The exit status of a run whose tables were printed. */
static enum pk_code judge(const struct run *r, struct pk_err *err)
{
    const struct pk_session_result *s = &r->result;
    if (pk_recorder_finish(r->recorder, err))
        return err->code;
    if (s->interrupted) {
        if (s->unfinished)
            pk_fail(err, PK_E_INTERRUPTED, "interrupted: %zu of %s not finished", s->unfinished,
                    pk_plural(r->plan.n, "case", r->app->arena));
        else
            pk_fail(err, PK_E_INTERRUPTED,
                    "interrupted: every case was timed, but not every case was counted");
        if (r->o->no_save) {
            pk_why(err, "a signal stopped perfkit; with --no-save nothing is stored");
            return pk_fix(err, "run it again; without --no-save, --resume could continue it");
        }
        pk_why(err, "a signal stopped perfkit; what was measured is saved as run %lld", (long long)r->run_id);
        return pk_fix(err, "`perfkit run %s --resume` continues it", r->probe->name);
    }
    if (s->failed) {
        pk_fail(err, PK_E_CHECK, "%zu of %s failed", s->failed, pk_plural(r->plan.n, "case", r->app->arena));
        pk_why(err, "%s", pk_failed_text(r->store, r->run_id, r->app->arena));
        return r->o->no_save ? pk_fix(err, "run it without --no-save to store them")
                             : pk_fix(err, "`perfkit show %lld` prints them again", (long long)r->run_id);
    }
    return s->ok ? PK_OK : pk_run_nothing_measured(r, err);
}

static enum pk_code record(struct run *r, struct pk_err *err)
{
    announce(r);
    pk_run_note_too_large(r);
    pk_run_warn_of_long_cases(r);
    r->recorder = pk_recorder_new(r->store, r->run_id, r->store_path);
    enum pk_code rc = measure(r, err);
    if (!rc)
        rc = finish(r, err);
    if (!rc)
        rc = pk_run_tables(r->store, r->run_id, r->app->out, err);
    if (!rc)
        r->app->closing_note = closing_note(r);
    if (rc && pk_recorder_spool(r->recorder)) /* the same lock or full disk, and where the slices went */
        rc = pk_recorder_finish(r->recorder, err);
    if (!rc)
        rc = judge(r, err);
    pk_recorder_free(r->recorder);
    return rc;
}

/* --- started by mpirun or srun on every rank: rank 0 runs the session, the others measure what it requests --------------- */

static bool names_axis(const struct run_options *o, const char *name)
{
    for (size_t i = 0; i < o->axes.n; i++)
        if (!strncmp(o->axes.v[i], name, strlen(name)) && o->axes.v[i][strlen(name)] == '=')
            return true;
    return false;
}

/* As many as there are, unless something else is asked for. */
void pk_run_take_ranks(struct run *r)
{
    if (r->launched.by && r->probe->ranks && pk_axis_index(r->probe->axes, "ranks") >= 0 &&
        !names_axis(r->o, "ranks"))
        pk_texts_add(&r->o->axes, pk_printf(r->app->arena, "ranks=%u", r->launched.size), r->app->arena);
}

static bool has_ranks(const struct run *r)
{
    for (size_t i = 0; i < r->plan.n; i++)
        if (r->plan.v[i].ranks && !r->plan.v[i].skip)
            return true;
    return false;
}

/* A rank cannot be started again: MPI ends with it. */
static void bound_invocations(struct run *r)
{
    if (!r->launched.by || !has_ranks(r) || r->o->invocations == 1)
        return;
    r->o->invocations = 1;
    pk_note(r->app,
            "%s has started the ranks once: one process each. Intervals need several processes: start it "
            "without %s, or several times",
            r->launched.by, r->launched.by);
}

/* --- before and while measuring ---------------------------------------------------------------------------------------- */

enum pk_code pk_run_prepare(struct run *r, struct pk_err *err)
{
    struct pk_arena *a = r->app->arena;
    r->store_path = pk_store_file(r->store);
    enum pk_code rc = pk_run_info_fill(&r->info, r->app->argc, r->app->argv, a, err);
    if (!rc && r->o->resume)
        rc = pk_run_find_resumable(r, err);
    if (!rc)
        rc = find_providers(r, err);
    if (!rc)
        rc = pk_run_choose_device(r, err);
    if (!rc)
        rc = select_counters(r, err);
    if (!rc)
        rc = pk_run_stored_ceilings(r, err);
    if (!rc)
        rc = pk_run_make_plan(r, err);
    if (!rc)
        bound_invocations(r);
    return rc;
}

enum pk_code pk_run_measure(struct run *r, struct pk_err *err)
{
    if (!r->o->dry_run && pk_run_measure_ceilings(r, err))
        return err->code;
    pk_run_estimate(r);
    if (pk_run_duration(r, err))
        return err->code;
    if (r->o->dry_run) {
        pk_run_print_plan(r);
        return PK_OK;
    }
    enum pk_code rc = r->o->resume ? pk_run_resume(r, err) : pk_run_begin(r, err);
    return rc ? rc : record(r, err);
}

/* What is wrong with the options alone is said before anything is opened or measured. */
enum pk_code pk_run_check(struct run *r, struct pk_err *err)
{
    static const char *const of_many[] = {
        "invocations", "min-samples", "max-samples", "min-time",    "max-time",     "max-noise",
        "warmup",      "budget",      "timeout",     "resume",      "label",        "tag",
        "cold",        "counters",    "breakdown",   "allocations", "peer-startup", NULL};
    static const char *const of_record[] = {"resume", "label", "tag", NULL};
    static const char *const of_peers[] = {"peer", NULL};
    static const char *const of_one[] = {"axis", "preset", "variant", "filter",
                                         "peer", "once",   "resume",  NULL};
    const struct pk_opt_table *table = &r->app->tables[1]; /* this command's rows */
    enum pk_code rc = pk_opt_apart(
        table, "once", of_many, "one iteration of each case runs in this process and is not recorded", err);
    if (!rc)
        rc = pk_opt_apart(table, "no-save", of_record, "nothing is recorded", err);
    if (!rc)
        rc = pk_opt_apart(table, "cold", of_peers,
                          "only perfkit's own variants can be measured with cold caches", err);
    if (!rc)
        rc = pk_opt_apart(table, "suite", of_one, "the suite file defines what is measured", err);
    if (!rc)
        rc = pk_label_check(r->o->label, err);
    return rc ? rc : pk_tags_json(r->o->tags.v, r->o->tags.n, r->app->arena, &r->info.tags, err);
}

/* --- a rank but 0 ------------------------------------------------------------------------------------------------------ */

/* Why this rank has nothing to measure with the others; NULL = it has, or nobody asked it to. */
static const char *why_absent(const struct run *r)
{
    const char *why = NULL;
    for (size_t i = 0; i < r->plan.n && !why; i++)
        why = r->plan.v[i].ranks ? r->plan.v[i].skip : NULL;
    return pk_plan_to_try(&r->plan) ? NULL : why;
}

/* Rank 0 may wait for it: an exit status other than 0 makes the launcher end them all. */
static enum pk_code stay_away(const struct run *r, const char *why, struct pk_err *err)
{
    pk_fail(err, PK_E_NOTHING, "rank %u of %u has no case to measure", r->launched.rank, r->launched.size);
    pk_why(err, "%s", why);
    return pk_fix(err, "start every rank with the same command line and environment");
}

enum pk_code pk_run_follow(struct run *r, struct pk_err *err)
{
    r->app->mute = true;
    r->o->resume = false; /* rank 0 knows what is missing */
    if (r->o->once)
        return PK_OK;
    if (pk_open_store(r->app, ":memory:", PK_STORE_WRITE, &r->store, err))
        return err->code;
    enum pk_code rc = pk_run_prepare(r, err);
    pk_store_close(r->store);
    const struct pk_worker_io io = {
        .in_fd = -1, .wire_fd = -1, .join = true, .expects = pk_plan_expects, .user = &r->plan};
    if (rc || r->o->dry_run)
        return rc;
    if (has_ranks(r))
        return pk_worker_serve(&io, err);
    const char *why = why_absent(r);
    return why ? stay_away(r, why, err) : PK_OK;
}
