/* exec: measures any command, run after run, and what it reports about itself.
 *
 * Every run is a process of its own; intervals are over runs. Recorded and printed like an experiment. */
#include "cmd/exec.h"

#include "bench/command/command.h"
#include "bench/run/run.h"
#include "bench/tables/tables.h"
#include "machine/bind.h"
#include "json/json.h"

#include <string.h>

#define AT(member) offsetof(struct exec_options, member)

static const struct pk_opt options[] = {
    {"runs", 'r', PK_OPT_INT, AT(runs), "N", 1, 1000000, .group = "How long",
     .help = "exact number of runs, instead of --min-runs and --min-time"},
    {"min-runs", 0, PK_OPT_INT, AT(min_runs), "N", 1, 1000000, .def = "10", .help = "minimum number of runs"},
    {"max-runs", 0, PK_OPT_INT, AT(max_runs), "N", 1, 1000000, .def = "10000",
     .help = "maximum number of runs"},
    {"min-time", 0, PK_OPT_DURATION, AT(min_time_ns), "TIME", 0, 3.6e12, .def = "3s",
     .help = "continue at least for this time"},
    {"warmup", 'w', PK_OPT_INT, AT(warmup), "N", 0, 1000000, .def = "0",
     .help = "number of runs before, which are not recorded"},
    {"timeout", 0, PK_OPT_DURATION, AT(timeout_ns), "TIME", 1e6, 3.1536e16, .def = "10m",
     .help = "time limit for one run; then it and all that it started are ended"},
    {"prepare", 'p', PK_OPT_TEXT, AT(prepare), "LINE", .code = true, .group = "The command",
     .help = "shell command before each run, not timed"},
    {"ignore-failure", 'i', PK_OPT_FLAG, AT(ignore_failure),
     .help = "also measure runs that end with a non-zero exit status or by a signal"},
    {"counters", 0, PK_OPT_TEXT, AT(counters), "NAMES",
     .help = "what to count in additional runs, which are not timed: groups and events of `perfkit list "
             "counters`, for example sw,cpu-basic (default: time on CPUs, faults, switches, cycles, "
             "instructions, branches and misses)"},
    {"no-counters", 0, PK_OPT_FLAG, AT(no_counters), .help = "count nothing and omit the additional runs"},
    {"bind", 0, PK_OPT_TEXT, AT(bind), "CPUS", .def = "none",
     .help = "CPUs for the command: socket:N, numa:N, a list such as 0-3,8, or none"},
    {"name", 0, PK_OPT_TEXT, AT(name), "NAME",
     .help = "name of the case; runs with the same name can be compared (default: the command line)"},
    {"label", 'l', PK_OPT_TEXT, AT(label), "NAME", .group = "The record",
     .help = "label of the run, which can be used wherever a run is named"},
    {"tag", 0, PK_OPT_LIST, AT(tags), "KEY=VALUE", .help = "further information to store with the run"},
    {"no-save", 0, PK_OPT_FLAG, AT(no_save), .help = "print the table; store nothing"},
    {0},
};

static const char *settings_json(const struct exec *e)
{
    const struct exec_options *o = e->o;
    PK_JSON_CLEANUP json_t *s =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:s?, s:b, s:o}", "runs", (json_int_t)o->runs, "min_runs",
                  (json_int_t)o->min_runs, "max_runs", (json_int_t)o->max_runs, "min_time_ns",
                  (json_int_t)o->min_time_ns, "warmup", (json_int_t)o->warmup, "timeout_ns",
                  (json_int_t)o->timeout_ns, "prepare", o->prepare, "ignore_failure", (int)o->ignore_failure,
                  "counters", o->counters ? json_string(o->counters) : json_boolean(!o->no_counters));
    if (e->cpus)
        json_object_set_new(s, "bind", json_string(e->o->bind));
    return pk_json_text(e->app->arena, s, PK_JSON_CANON);
}

static enum pk_code check_name(const char *name, struct pk_err *err)
{
    if (pk_text_check("name", name, err))
        return err->code;
    if (!name || *name)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "--name '' is empty");
    pk_why(err, "a name has at least one character");
    return pk_fix(err, "give a name, or omit it: the case is then named by its command line");
}

static enum pk_code begin(struct exec *e, struct pk_err *err)
{
    struct pk_arena *a = e->app->arena;
    struct pk_run_info info = {.experiment = "exec", .label = e->o->label, .settings = settings_json(e)};
    if (pk_run_info_fill(&info, e->app->argc, e->app->argv, a, err) ||
        pk_tags_json(e->o->tags.v, e->o->tags.n, a, &info.tags, err) ||
        pk_store_run_begin(e->store, &info, &e->run_id, err))
        return err->code;
    return pk_run_record_unavailable(e->store, e->run_id, &e->counters, a, err);
}

static void show_progress(void *user, int64_t done, int64_t expected, int64_t left_ns)
{
    const struct exec *e = user;
    const struct pk_planned command = {.variant = e->argv[0]};
    const struct pk_slice ok = {.message = ""};
    pk_progress_slice(e->progress, &command, &ok, (size_t)done, (size_t)expected, left_ns);
}

static enum pk_code measure(struct exec *e, struct pk_recorder *rec, struct pk_err *err)
{
    const struct exec_options *o = e->o;
    struct pk_progress progress;
    const struct pk_command_events events = {.ran = show_progress, .user = e};
    const struct pk_command_options c = {
        .argv = e->argv,
        .name = o->name,
        .cpus = e->cpus,
        .prepare = o->prepare,
        .counters = o->no_counters ? NULL : &e->counters,
        .ignore_failure = o->ignore_failure,
        .warmup = o->warmup,
        .runs = o->runs,
        .min_runs = o->min_runs,
        .max_runs = o->max_runs,
        .min_time_ns = o->min_time_ns,
        .timeout_ns = o->timeout_ns,
    };
    e->progress = &progress;
    pk_progress_begin(&progress, e->app);
    enum pk_code rc = pk_command_measure(&c, rec, &events, &pk_stop_flag, e->app->arena, &e->result, err);
    pk_progress_end(&progress);
    if (!rc && *e->result.why_not_counted)
        pk_note(e->app, "no CPU events were counted: %s", e->result.why_not_counted);
    return rc;
}

/* The exit status after the table was printed. */
static enum pk_code judge(const struct exec *e, struct pk_err *err)
{
    const struct pk_command_result *r = &e->result;
    if (r->interrupted) {
        pk_fail(err, PK_E_INTERRUPTED, "interrupted after %lld runs", (long long)r->runs);
        pk_why(err, "a signal stopped perfkit");
        return e->o->no_save
                   ? pk_fix(err, "run it again; without --no-save, measured values are kept")
                   : pk_fix(err, "`perfkit show %lld` prints what was measured", (long long)e->run_id);
    }
    if (r->last == PK_ST_OK)
        return PK_OK;
    const char *how = r->last == PK_ST_TIMEOUT ? "did not end in time" : "failed";
    if (r->runs > 1)
        pk_fail(err, r->verdict == PK_E_NOTHING ? PK_E_CHECK : r->verdict,
                "run %lld of '%s' %s, after %lld that were measured", (long long)r->runs, e->argv[0], how,
                (long long)r->runs - 1);
    else
        pk_fail(err, r->verdict, "nothing was measured: '%s' %s", e->argv[0], how);
    pk_why(err, "%s", r->message);
    return pk_fix(err, "%s",
                  r->last == PK_ST_TIMEOUT ? "give it more time with --timeout"
                  : r->verdict == PK_E_NOTHING
                      ? "run it by hand; --ignore-failure measures commands that fail"
                  : r->verdict == PK_E_CHECK ? "docs/protocol.md describes what a program may report"
                                             : "run it again");
}

static enum pk_code record(struct exec *e, struct pk_err *err)
{
    struct pk_recorder *rec = pk_recorder_new(e->store, e->run_id, pk_store_file(e->store));
    enum pk_code rc = measure(e, rec, err);
    const char *status = e->result.interrupted ? "interrupted" : "complete";
    if (!rc && !e->o->no_counters && !pk_recorder_spool(rec))
        rc = pk_command_counters(e->store, e->run_id, &e->counters, err);
    if (!rc)
        rc = pk_recorder_end_run(rec, status, err);
    if (!rc)
        rc = pk_run_tables(e->store, e->run_id, e->app->out, err);
    if (!rc || pk_recorder_spool(rec)) /* the same lock or full disk, and where the slices went */
        rc = pk_recorder_finish(rec, status, err);
    pk_recorder_free(rec);
    return rc ? rc : judge(e, err);
}

static enum pk_code check_options(const struct exec *e, struct pk_err *err)
{
    static const char *const of_runs[] = {"min-runs", "max-runs", "min-time", NULL};
    static const char *const of_record[] = {"label", "tag", NULL}, *const counting[] = {"counters", NULL};
    const struct pk_opt_table *table = &e->app->tables[1]; /* this command's rows */
    if (pk_opt_apart(table, "runs", of_runs, "--runs is exactly how many runs there are", err) ||
        pk_opt_apart(table, "no-save", of_record, "nothing is recorded", err) ||
        pk_opt_apart(table, "no-counters", counting, "nothing is counted", err) ||
        pk_label_check(e->o->label, err) || pk_text_check("prepare", e->o->prepare, err) ||
        check_name(e->o->name, err))
        return err->code;
    return pk_opt_ordered(table, "min-runs", "max-runs", err);
}

/* A counter that was given by name and is not counted is a warning; a usual one, a note under the table. */
static enum pk_code select_counters(struct exec *e, struct pk_err *err)
{
    struct pk_counters *c = &e->counters;
    if (e->o->no_counters)
        return PK_OK;
    if (pk_counters_select(&pk_counter_host, e->o->counters, true, e->app->arena, c, err))
        return err->code;
    const struct pk_texts unavailable = pk_run_unavailable(c, e->app->arena);
    for (size_t i = 0; i < unavailable.n && e->o->counters; i++)
        pk_warn(e->app, "%s", unavailable.v[i]);
    if (!e->o->counters && !c->n_plans && c->n_missing)
        pk_note(e->app, "no CPU events are counted: %s", c->missing[0].why);
    return PK_OK;
}

enum pk_code pk_exec_check(struct exec *e, struct pk_err *err)
{
    bool anywhere;
    if (check_options(e, err) || pk_program_find(e->argv, err) ||
        pk_bind_option(e->o->bind, e->app->arena, &e->cpus, &anywhere, err))
        return err->code;
    return select_counters(e, err);
}

enum pk_code pk_exec_measure(struct exec *e, struct pk_err *err)
{
    return begin(e, err) ? err->code : record(e, err);
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    pk_texts_add(&app->args, NULL, app->arena); /* as argv ends */
    struct exec e = {.app = app, .o = app->options, .argv = app->args.v};
    if (pk_exec_check(&e, err) ||
        pk_open_store(app, e.o->no_save ? ":memory:" : NULL, PK_STORE_WRITE, &e.store, err))
        return err->code;
    enum pk_code rc = pk_exec_measure(&e, err);
    pk_store_close(e.store);
    return rc;
}

const struct pk_cmd pk_cmd_exec = {
    .name = "exec",
    .summary = "measure any command, or a program that reports its own samples",
    .usage = "exec [options] -- COMMAND",
    .examples = "perfkit exec -- sleep 0.1\n"
                "perfkit exec --warmup 3 --runs 50 --label before -- ./solve input.txt\n"
                "perfkit exec --counters sw,cpu-basic,energy -- ./solve input.txt\n"
                "perfkit exec --prepare 'sync; rm -f out' -- sh -c './make-data | sort > out'\n",
    .options = options,
    .options_bytes = sizeof(struct exec_options),
    .exact_args = "1+",
    .run = run,
};
