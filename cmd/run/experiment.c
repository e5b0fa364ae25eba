/* Run, experiment: the steps of one run. Plans in this process, measures in workers, stores every slice as it is finished. What it chose
 * for the user (device, preset, store) is printed on stderr. */
#include "cmd/run/run.h"

#include "base/clock.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "bench/tables/tables.h"
#include "bench/worker/worker.h"

#include <string.h>

/* How it went and how to see it again, printed after the tables. */
static const char *closing_note(const struct pk_run *r)
{
    const struct pk_session_result *s = &r->result;
    struct pk_arena *a = r->arena;
    char took[32];
    pk_format_ns((double)(pk_clock_ns() - r->began_ns), took, sizeof took);
    const char *what = pk_printf(a, "%s measured, %s in %s", pk_plural(s->ok, "case", a),
                                 pk_plural(s->samples, "sample", a), took);
    if (r->o->no_save)
        return pk_printf(a, "%s; not recorded", what);
    const bool elsewhere = pk_opt_source_of(pk_run_app(r)->tables, "db") == PK_OPT_COMMAND_LINE;
    return pk_printf(a, "run %lld%s%s: %s; `perfkit show %lld%s%s` prints it again", (long long)r->run_id,
                     r->o->label ? " " : "", r->o->label ? r->o->label : "", what, (long long)r->run_id,
                     elsewhere ? " --db " : "", elsewhere ? pk_run_app(r)->globals->db : "");
}

static enum pk_code measure(struct pk_run *r, struct pk_err *err)
{
    struct pk_progress progress;
    const struct pk_session_events events = {pk_progress_slice, pk_progress_warning, &progress};
    pk_progress_begin(&progress, pk_run_app(r));
    const enum pk_code rc = pk_run_session(r, &events, err);
    pk_progress_end(&progress);
    return rc;
}

static enum pk_code record(struct pk_run *r, struct pk_err *err)
{
    pk_run_note(r, "%s on %s, preset %s: %s; %s %s", r->probe->name, r->device, r->plan.preset->name,
                pk_printf(r->arena, "%s%s", pk_run_extent(r), r->o->cold ? ", cold caches" : ""),
                r->o->no_save ? "not" : "recording into", r->o->no_save ? "recorded" : r->store_path);
    pk_run_note_too_large(r);
    pk_run_warn_of_long_cases(r);
    r->recorder = pk_recorder_new(r->store, r->run_id, r->store_path);
    enum pk_code rc = measure(r, err);
    if (!rc)
        rc = pk_run_finish(r, err);
    pk_out_only(pk_run_app(r)->out, r->o->tables.v, r->o->tables.n);
    if (!rc)
        rc = pk_run_tables(r->store, r->run_id, pk_run_app(r)->out, err);
    if (!rc)
        pk_run_app(r)->closing_note = closing_note(r);
    if (rc && pk_recorder_spool(r->recorder)) /* the same lock or full disk, and where the slices went */
        rc = pk_recorder_finish(r->recorder, pk_run_status(r), err);
    if (!rc)
        rc = pk_run_outcome(r, err);
    pk_recorder_free(r->recorder);
    return rc;
}

enum pk_code pk_run_measure(struct pk_run *r, struct pk_err *err)
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

/* Only perfkit's own processes can do it. */
static enum pk_code refuse_of_program(const struct pk_run *r, struct pk_err *err)
{
    if (!r->probe || !r->probe->own || !(r->o->once || r->o->profile || r->o->cold))
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "--%s and %s cannot be combined", r->o->cold ? "cold" : pk_run_profile_option(r),
            pk_probe_call(r->probe));
    pk_why(err, "%s",
           r->o->cold ? "only perfkit's own variants can be measured with cold caches"
                      : "iterations run in this process, and the program is a process of its own");
    return pk_fix(err, "%s", r->o->cold ? "omit --cold" : "start the program itself under the profiler");
}

/* What is wrong with the options alone is reported before anything is opened or measured. */
enum pk_code pk_run_check(struct pk_run *r, struct pk_err *err)
{
    static const char *const of_many[] = {
        "invocations", "min-samples", "max-samples", "min-time",    "max-time",     "max-noise",
        "warmup",      "budget",      "timeout",     "resume",      "label",        "tag",
        "cold",        "counters",    "breakdown",   "allocations", "peer-startup", NULL};
    static const char *const resumed[] = {"resume", NULL};
    static const char *const of_once[] = {"profile", NULL};
    static const char *const of_peers[] = {"peer", NULL};
    static const char *const of_one[] = {"axis", "preset",  "variant", "filter", "peer",
                                         "once", "profile", "resume",  NULL};
    const struct pk_opt_table *table = r->table;
    if (pk_opt_exclusive(table, "once", of_once, "--once is --profile 1", err) ||
        pk_opt_exclusive(table, "once", of_many,
                         "one iteration of each case runs in this process and is not recorded", err) ||
        pk_opt_exclusive(table, "profile", of_many,
                         "iterations of each case run in this process and are not recorded", err) ||
        pk_opt_exclusive(table, "no-save", resumed, "nothing is recorded", err) ||
        pk_record_options_check(table, r->o->label, err) ||
        pk_opt_exclusive(table, "cold", of_peers,
                         "only perfkit's own variants can be measured with cold caches", err) ||
        pk_opt_exclusive(table, "suite", of_one, "the suite file defines what is measured", err) ||
        refuse_of_program(r, err) ||
        pk_table_names_check(&r->o->tables, r->probe && r->probe->own ? r->probe : NULL, r->arena, err))
        return err->code;
    if (r->o->once)
        r->o->profile = 1;
    return pk_tags_json(r->o->tags.v, r->o->tags.n, r->arena, &r->info.tags, err);
}

/* --- a rank but 0 ------------------------------------------------------------------------------------------------------ */

enum pk_code pk_run_follow(struct pk_run *r, struct pk_err *err)
{
    pk_run_app(r)->mute = true;
    r->o->resume = false; /* rank 0 knows what is missing */
    if (r->o->profile)
        return PK_OK;
    if (pk_open_store(pk_run_app(r), ":memory:", PK_STORE_WRITE, &r->store, err))
        return err->code;
    enum pk_code rc = pk_run_prepare(r, err);
    pk_store_close(r->store);
    struct pk_worker_io io = {
        .in_fd = -1, .wire_fd = -1, .join = true, .expects = pk_case_plan_expects, .user = &r->plan};
    io.timeout_ns = pk_heartbeat_timeout(r->o->timeout_ns);
    if (rc || r->o->dry_run)
        return rc;
    if (pk_run_has_ranks(r))
        return pk_worker_serve(&io, err);
    /* why it cannot be measured with the others; NULL = it can, or need not */
    const char *why = NULL;
    for (size_t i = 0; i < r->plan.n && !why; i++)
        why = r->plan.v[i].ranks ? r->plan.v[i].skip : NULL;
    if (!why || pk_case_plan_to_try(&r->plan))
        return PK_OK;
    /* Rank 0 may wait for it: an exit status other than 0 makes the launcher end them all. */
    pk_fail(err, PK_E_NOTHING, "rank %u of %u has no case to measure", r->launcher.rank, r->launcher.size);
    pk_why(err, "%s", why);
    return pk_fix(err, "start every rank with the same command line and environment");
}
