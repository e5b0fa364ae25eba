/* exec: measures any command, run after run, or several in turns, and what they report about themselves.
 *
 * Every run is a process of its own; intervals are over runs. Recorded and printed like an experiment; each command is a case. */
#include "cmd/exec.h"

#include "bench/command/command.h"
#include "bench/run/run.h"
#include "bench/tables/tables.h"
#include "judge/report/ranking.h"
#include "machine/bind.h"
#include "json/json.h"

#define AT(member) offsetof(struct exec_options, member)

static const struct pk_opt options[] = {
    {"runs", .letter = 'r', .type = PK_OPT_INT, .offset = AT(command.runs), .arg = "N", .min = 1,
     .max = 1000000, .group = "How long",
     .help = "exact number of runs of each command, instead of --min-runs and --min-time"},
    {"min-runs", .type = PK_OPT_INT, .offset = AT(command.min_runs), .arg = "N", .min = 1, .max = 1000000,
     .def = "10", .help = "minimum number of runs"},
    {"max-runs", .type = PK_OPT_INT, .offset = AT(command.max_runs), .arg = "N", .min = 1, .max = 1000000,
     .def = "10000", .help = "maximum number of runs"},
    {"min-time", .type = PK_OPT_DURATION, .offset = AT(command.min_time_ns), .arg = "TIME", .max = 3.6e12,
     .def = "3s", .help = "minimum measuring time (of several commands: average for each)"},
    {"warmup", .letter = 'w', .type = PK_OPT_INT, .offset = AT(command.warmup), .arg = "N", .max = 1000000,
     .def = "0", .help = "number of warm-up runs, not recorded"},
    {"timeout", .type = PK_OPT_DURATION, .offset = AT(command.timeout_ns), .arg = "TIME", .min = 1e6,
     .max = 3.1536e16, .def = "10m",
     .help = "time limit for one run; then the command and its child processes are killed"},
    {"prepare", .letter = 'p', .type = PK_OPT_TEXT, .offset = AT(command.prepare), .arg = "LINE",
     .code = true, .group = "The command", .help = "shell command before each run, not timed"},
    {"ignore-failure", .letter = 'i', .type = PK_OPT_FLAG, .offset = AT(command.ignore_failure),
     .help = "also measure runs that end with a non-zero exit status or by a signal"},
    {"counters", .type = PK_OPT_TEXT, .offset = AT(counters), .arg = "COUNTER", .commas = true,
     .help = "what to count in additional runs, which are not timed: groups and events of `perfkit list "
             "counters`, for example sw,cpu-basic (default: time on CPUs, faults, switches, cycles, "
             "instructions, branches and misses)"},
    {"no-counters", .type = PK_OPT_FLAG, .offset = AT(no_counters),
     .help = "count nothing and omit the additional runs"},
    {"bind", .type = PK_OPT_TEXT, .offset = AT(bind), .arg = "CPUS", .def = "none",
     .help = "CPUs for the command: socket:N, numa:N, a list such as 0-3,8, or none"},
    {"seed", .type = PK_OPT_INT, .offset = AT(seed), .arg = "N", .max = 0x1p53, .def = "1",
     .help = "several commands: seed of their order; not given: new in every run, printed by `show`"},
    {"name", .type = PK_OPT_LIST, .offset = AT(names), .arg = "NAME",
     .help = "name of the case, one for each command; runs with the same name can be compared (default: the "
             "command line)"},
    {"label", .letter = 'l', .type = PK_OPT_TEXT, .offset = AT(label), .arg = "LABEL", .group = "The record",
     .help = "label of the run, which can be used wherever a run is named"},
    {"tag", .type = PK_OPT_LIST, .offset = AT(tags), .arg = "KEY=VALUE",
     .help = "further information to store with the run"},
    {"no-save", .type = PK_OPT_FLAG, .offset = AT(no_save), .help = "print the table; store nothing"},
    {0},
};

static const char *settings_json(const struct exec *e)
{
    const struct pk_command_options *o = &e->o->command;
    PK_JSON_CLEANUP json_t *s = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:s?, s:b, s:o}", "runs", (json_int_t)o->runs, "min_runs",
        (json_int_t)o->min_runs, "max_runs", (json_int_t)o->max_runs, "min_time_ns",
        (json_int_t)o->min_time_ns, "warmup", (json_int_t)o->warmup, "timeout_ns", (json_int_t)o->timeout_ns,
        "prepare", o->prepare, "ignore_failure", (int)o->ignore_failure, "counters",
        e->o->counters ? json_string(e->o->counters) : json_boolean(!e->o->no_counters));
    if (e->cpus)
        json_object_set_new(s, "bind", json_string(e->o->bind));
    return pk_json_text(e->app->arena, s, PK_JSON_CANON);
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
    const struct pk_planned_case command = {.variant = e->n > 1 ? "rounds" : e->commands[0].argv[0]};
    const struct pk_slice ok = {.message = ""};
    pk_progress_slice(e->progress, &command, &ok, (size_t)done, (size_t)expected, left_ns);
}

static enum pk_code measure(struct exec *e, struct pk_recorder *rec, struct pk_err *err)
{
    struct pk_progress progress;
    const struct pk_command_events events = {.ran = show_progress, .user = e};
    e->progress = &progress;
    e->results = pk_new_n(e->app->arena, struct pk_command_result, e->n);
    if (e->n > 1) {
        e->commands->order_seed = pk_run_order_seed(e->store, &e->app->tables[1], e->o->seed);
        if (pk_run_record_order_seed(rec, e->commands->order_seed, e->app->arena, err))
            return err->code;
    }
    pk_progress_begin(&progress, e->app);
    enum pk_code rc =
        pk_commands_measure(e->commands, e->n, rec, &events, &pk_stop_flag, e->app->arena, e->results, err);
    pk_progress_end(&progress);
    for (size_t i = 0; !rc && i < e->n; i++)
        if (*e->results[i].why_not_counted)
            pk_print_note(e->app, "no CPU events were counted%s%s: %s", e->n > 1 ? " of " : "",
                          e->n > 1 ? pk_command_name(&e->commands[i], e->app->arena) : "",
                          e->results[i].why_not_counted);
    return rc;
}

/* The exit status after the tables were printed. */
static enum pk_code judge(const struct exec *e, struct pk_err *err)
{
    struct pk_err next;
    enum pk_code rc = PK_OK;
    if (e->results[0].interrupted) {
        pk_fail(err, PK_E_INTERRUPTED, "interrupted after %lld runs", (long long)e->results[0].runs);
        pk_why(err, "a signal stopped perfkit");
        return e->o->no_save
                   ? pk_fix(err, "run it again; without --no-save, measured values are kept")
                   : pk_fix(err, "`perfkit show %lld` prints what was measured", (long long)e->run_id);
    }
    for (size_t i = 0; i < e->n; i++)
        if (pk_command_ended(&e->commands[i], &e->results[i], &next))
            rc = pk_another_error(rc, &next, err);
    return rc;
}

static enum pk_code record(struct exec *e, struct pk_err *err)
{
    struct pk_recorder *rec = pk_recorder_new(e->store, e->run_id, pk_store_file(e->store));
    enum pk_code rc = measure(e, rec, err);
    const char *status = e->results[0].interrupted ? "interrupted" : "complete";
    if (!rc && !e->o->no_counters && !pk_recorder_spool(rec))
        rc = pk_command_counters(e->store, e->run_id, &e->counters, err);
    if (!rc)
        rc = pk_recorder_end_run(rec, status, err);
    if (!rc)
        rc = pk_run_tables(e->store, e->run_id, e->app->out, err);
    if (!rc)
        rc = pk_ranking_print(e->store, e->run_id, e->app->out, err);
    if (!rc || pk_recorder_spool(rec)) /* the same lock or full disk, and where the slices went */
        rc = pk_recorder_finish(rec, status, err);
    pk_recorder_free(rec);
    return rc ? rc : judge(e, err);
}

static enum pk_code check_options(const struct exec *e, struct pk_err *err)
{
    static const char *const of_runs[] = {"min-runs", "max-runs", "min-time", NULL};
    static const char *const counting[] = {"counters", NULL};
    const struct pk_opt_table *table = &e->app->tables[1]; /* this command's rows */
    if (pk_opt_exclusive(table, "runs", of_runs, "--runs fixes exactly the number of runs", err) ||
        pk_record_options_check(table, e->o->label, err) ||
        pk_opt_exclusive(table, "no-counters", counting, "nothing is counted", err) ||
        pk_text_check("prepare", e->o->command.prepare, err))
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
        pk_print_warning(e->app, "%s", unavailable.v[i]);
    if (!e->o->counters && !c->n_plans && c->n_missing)
        pk_print_note(e->app, "no CPU events are counted: %s", c->missing[0].why);
    return PK_OK;
}

enum pk_code pk_exec_check(struct exec *e, const struct pk_texts *args, bool in_words, struct pk_err *err)
{
    struct pk_command_options each = e->o->command;
    bool anywhere;
    if (check_options(e, err) || pk_bind_option(e->o->bind, e->app->arena, &each.cpus, &anywhere, err))
        return err->code;
    each.counters = e->o->no_counters ? NULL : &e->counters;
    e->cpus = each.cpus;
    if (pk_commands_read(args, in_words, &e->o->names, &each, e->app->arena, &e->commands, &e->n, err))
        return err->code;
    if (e->n == 1 && pk_opt_source_of(&e->app->tables[1], "seed") == PK_OPT_COMMAND_LINE) {
        pk_fail(err, PK_E_USAGE, "--seed would change nothing");
        pk_why(err, "one command has no turns");
        return pk_fix(err, "omit it, or give several commands: perfkit exec 'A' 'B'");
    }
    return select_counters(e, err);
}

enum pk_code pk_exec_measure(struct exec *e, struct pk_err *err)
{
    return begin(e, err) ? err->code : record(e, err);
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    struct exec e = {.app = app, .o = app->options};
    bool in_words;
    if (pk_opt_in_words(app->argc, app->argv, app->args.n, &in_words, err) ||
        pk_exec_check(&e, &app->args, in_words, err) ||
        pk_open_store(app, e.o->no_save ? ":memory:" : NULL, PK_STORE_WRITE, &e.store, err))
        return err->code;
    enum pk_code rc = pk_exec_measure(&e, err);
    pk_store_close(e.store);
    return rc;
}

const struct pk_cmd pk_cmd_exec = {
    .name = "exec",
    .summary = "measure any command, or compare several in turns",
    .usage = "exec [options] -- COMMAND | exec [options] 'COMMAND' ...",
    .examples = "perfkit exec -- sleep 0.1\n"
                "perfkit exec './old input' './new input'      which is faster, and by how much\n"
                "perfkit exec --warmup 3 --runs 50 --label before -- ./solve input.txt\n"
                "perfkit exec --counters sw,cpu-basic,energy -- ./solve input.txt\n"
                "perfkit exec --prepare 'sync; rm -f out' -- sh -c './make-data | sort > out'\n",
    .options = options,
    .options_bytes = sizeof(struct exec_options),
    .exact_args = "1+",
    .run = run,
};
