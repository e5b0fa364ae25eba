/* gate: two builds, commands or settings, measured in turns until it is known whether the second is slower.
 *
 * Measures in fresh processes, A B B A; records a run of each side; answers with a table and an exit status. */
#include "cmd/gate.h"

#include "base/clock.h"
#include "cmd/describe.h"
#include "cmd/progress.h"
#include "cmd/run_rows.h"

#include <string.h>

#define OF(member)      offsetof(struct gate_options, member)
#define OF_FILE(member) OF(files.member)

const struct pk_opt pk_gate_rows[] = {
    {"a", 0, PK_OPT_TEXT, OF(a), "SIDE", .cli_only = true, .group = "The two sides",
     .help =
         "the base: a command; with an EXPERIMENT a build of perfkit (build-main) or settings (dtype=fp32)"},
    {"b", 0, PK_OPT_TEXT, OF(b), "SIDE", .cli_only = true, .help = "likewise, what is judged"},
    {"name", 0, PK_OPT_TEXT, OF(name), "NAME", .help = "what to call the case of two commands"},
    {"prepare", 0, PK_OPT_TEXT, OF(prepare), "LINE", .code = true,
     .help = "shell line before each run of a command, not timed"},

    {"metric", 'm', PK_OPT_LIST, OF(metrics), "NAME", .group = "The verdict",
     .help = "judge this metric; without it, times"},
    {"all-metrics", 0, PK_OPT_FLAG, OF(all_metrics), .help = "judge every metric that has a direction"},
    {"min-effect", 0, PK_OPT_RATIO, OF(min_effect), "RATIO", 1e-6, 10, .def = "2%",
     .help = "the smallest change of interest"},
    {"threshold", 0, PK_OPT_LIST, OF(thresholds), "METRIC=SIZE",
     .help = "another one for some: forward_ns=5%, forward_ns=5%,20us, 'forward_ns[variant=flash]=10%'"},
    {"alpha", 0, PK_OPT_RATIO, OF(alpha), "RATIO", 1e-6, 0.5, .def = "5%",
     .help = "the risk of a false alarm that a gate may take, over all its rows"},
    {"max-pairs", 0, PK_OPT_INT, OF(max_pairs), "N", 8, 1000,
     .help = "pairs of processes at most; default 20 (6 for all, 14 more for the suspicious), with "
             "--until-clear 30"},
    {"until-clear", 0, PK_OPT_FLAG, OF(until_clear),
     .help = "a look after every pair, until it is clear; for few rows"},
    {"strict", 0, PK_OPT_FLAG, OF(strict),
     .help = "slower only when the whole interval is beyond --min-effect, not the estimate alone"},
    {"fail-on-undecided", 0, PK_OPT_FLAG, OF(fail_on_undecided),
     .help = "exit status 4 when any row is undecided"},
    {"budget", 0, PK_OPT_DURATION, PK_RUN_AT(budget_ns), "TIME", 1, 3.1536e16,
     .help = "time for all pairs; rows that still want some are undecided then"},

    PK_RUN_ROWS_GRID,
    PK_RUN_ROWS_PLACE,
    {"timeout", 0, PK_OPT_DURATION, PK_RUN_AT(timeout_ns), "TIME", 1e6, 3.1536e16, .def = "10m",
     .group = "One process", .help = "longest time for one case, or one run of a command"},
    PK_RUN_ROWS_PROCESS,
    PK_RUN_ROWS_DEVICE,

    {"only-changed", 0, PK_OPT_FLAG, OF(only_changed), .group = "The report",
     .help = "leave out the rows that are the same"},
    PK_REPORT_ROWS(OF_FILE),
    {"label", 'l', PK_OPT_TEXT, PK_RUN_AT(label), "NAME", .group = "The record",
     .help = "names the two runs NAME-a and NAME-b"},
    {"tag", 0, PK_OPT_LIST, PK_RUN_AT(tags), "KEY=VALUE", .help = "anything else to remember of them"},
    {"no-save", 0, PK_OPT_FLAG, PK_RUN_AT(no_save), .help = "print and write the verdicts, record nothing"},
    {0},
};

static enum pk_code more_options(const char *experiment, const struct pk_opt **rows, struct pk_arena *a,
                                 struct pk_err *err)
{
    const struct pk_probe *p;
    if (pk_describe_find(experiment, &p, err))
        return err->code;
    *rows = pk_run_axis_rows(p, pk_gate_rows, a);
    return PK_OK;
}

/* --- options ------------------------------------------------------------------------------------------------------- */

static struct pk_rule rule_of(const struct gate_options *o)
{
    struct pk_rule r = pk_rule_default;
    r.alpha = o->alpha;
    r.min_effect = o->min_effect;
    r.strict = o->strict;
    r.until_clear = o->until_clear;
    if (o->max_pairs) {
        r.max_pairs = (size_t)o->max_pairs;
        r.confirm_pairs = r.max_pairs - r.screen_pairs;
    }
    return r;
}

/* Options that say nothing of two commands. */
static enum pk_code check_of_experiment(const struct gate *g, struct pk_err *err)
{
    static const char *const names[] = {
        "axis",     "preset",    "variant", "filter",  "device",  "min-samples", "max-samples",  "min-time",
        "max-time", "max-noise", "warmup",  "threads", "no-bind", "cold",        "memory-limit", "no-check"};
    static const char *const of_commands[] = {"name", "prepare"};
    const char *const *list = g->probe ? of_commands : names;
    size_t n = g->probe ? 2 : sizeof names / sizeof *names;
    for (size_t i = 0; i < n; i++) {
        const char *origin = pk_opt_origin(&g->app->tables[1], 1, list[i]);
        if (!origin || strcmp(origin, "command line") != 0)
            continue;
        pk_fail(err, PK_E_USAGE, "--%s says nothing here", list[i]);
        pk_why(err,
               g->probe ? "it is for commands, and %s is an experiment"
                        : "it is for experiments, and none is named%s",
               g->probe ? g->probe->name : "");
        return pk_fix(err,
                      g->probe ? "leave it out" : "perfkit gate EXPERIMENT --a ... --b ..., or leave it out");
    }
    return PK_OK;
}

static enum pk_code check_options(struct gate *g, struct pk_err *err)
{
    static const char *const of_record[] = {"label", "tag", NULL};
    static const char *const one_by_one[] = {"metric", NULL};
    const struct pk_opt_table *table = &g->app->tables[1];
    const struct pk_texts *t = &g->o->thresholds;
    if (pk_opt_apart(table, "no-save", of_record, "nothing is recorded", err) ||
        pk_opt_apart(table, "all-metrics", one_by_one, "one chooses metrics, the other takes all", err) ||
        pk_label_check(g->o->run.label, err) || pk_text_check("name", g->o->name, err) ||
        pk_text_check("prepare", g->o->prepare, err))
        return err->code;
    g->thresholds = pk_new_n(g->app->arena, struct pk_threshold, t->n + 1);
    for (size_t i = 0; i < t->n; i++)
        if (pk_threshold_parse(t->v[i], g->app->arena, &g->thresholds[i], err))
            return err->code;
    return check_of_experiment(g, err);
}

/* --- measuring ------------------------------------------------------------------------------------------------------ */

static void show_progress(void *user, size_t done, size_t total, int64_t left_ns)
{
    struct gate *g = user;
    const struct pk_planned pair = {.variant = "pairs"};
    const struct pk_slice ok = {.message = ""};
    pk_progress_slice(g->app->progress, &pair, &ok, done, total, left_ns);
}

/* The same words from every process are said once. */
static void warn_once(void *user, const char *text)
{
    struct gate *g = user;
    for (size_t i = 0; i < g->warned.n; i++)
        if (strcmp(g->warned.v[i], text) == 0)
            return;
    pk_texts_add(&g->warned, pk_strdup(g->app->arena, text), g->app->arena);
    pk_warn(g->app, "%s", text);
}

static enum pk_code measure(struct gate *g, struct pk_err *err)
{
    const struct gate_options *o = g->o;
    const struct pk_gate_options options = {
        .rule = rule_of(o),
        .what = {.metrics = o->metrics.v,
                 .n_metrics = o->metrics.n,
                 .all_metrics = o->all_metrics,
                 .level = 1 - o->alpha},
        .own_times = g->probe ? NULL : pk_command_own_times,
        .thresholds = g->thresholds,
        .n_thresholds = o->thresholds.n,
        .budget_ns = o->run.budget_ns,
        .seed = (uint64_t)o->run.seed,
    };
    const struct pk_gate_events events = {show_progress, g};
    const struct pk_session_events heard = {.warning = warn_once, .user = g};
    for (int i = 0; i < PK_SIDES; i++)
        g->side[i].experiment.events = &heard;
    struct pk_progress progress;
    pk_progress_begin(&progress, g->app);
    enum pk_code rc = pk_gate_run(g->arms, &g->ledger, &options, &events, g->app->arena, &g->result, err);
    pk_progress_end(&progress);
    return rc;
}

static enum pk_code with_stores(struct gate *g, struct pk_err *err)
{
    struct pk_err late;
    if ((g->probe && pk_gate_plan(g, err)) || pk_gate_begin(g, err))
        return err->code;
    enum pk_code rc = measure(g, err);
    enum pk_code ended = pk_gate_end(g, &late);
    if (ended && !rc)
        *err = late;
    if (rc || ended)
        return rc ? rc : ended;
    return pk_gate_answer(g, err);
}

/* A store per side: each is the recorder of one run. */
static enum pk_code open_stores(struct gate *g, struct pk_err *err)
{
    for (int i = 0; i < PK_SIDES; i++)
        if (pk_open_store(g->app, g->o->run.no_save ? ":memory:" : NULL, PK_STORE_WRITE,
                          &g->side[i].run.store, err))
            return err->code;
    return PK_OK;
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    struct gate g = {
        .app = app, .o = app->options, .began_ns = pk_clock_ns(), .ledger = {.arena = app->arena}};
    if (app->args.n && pk_describe_find(app->args.v[0], &g.probe, err))
        return err->code;
    enum pk_code rc = check_options(&g, err);
    if (!rc)
        rc = pk_gate_read_sides(&g, err);
    if (!rc)
        rc = pk_reports_check(&g.o->files, app->arena, err);
    if (!rc)
        rc = open_stores(&g, err);
    if (!rc)
        rc = with_stores(&g, err);
    for (int i = 0; i < PK_SIDES; i++) {
        pk_recorder_free(g.side[i].run.recorder);
        pk_store_close(g.side[i].run.store);
    }
    return rc;
}

const struct pk_cmd pk_cmd_gate = {
    .name = "gate",
    .summary = "is b slower than a? two builds, commands or settings, measured in turns; for CI",
    .usage = "gate [EXPERIMENT] --a SIDE --b SIDE [options]",
    .examples = "perfkit gate --a './solve-main input' --b './solve input'\n"
                "perfkit gate attention-scaling --a build-main --b build --variant flash\n"
                "perfkit gate attention-scaling --a dtype=fp32 --b dtype=bf16 --until-clear\n"
                "perfkit gate tree-patch --a ../main/build --b build --junit gate.xml --budget 5m\n",
    .options = pk_gate_rows,
    .options_bytes = sizeof(struct gate_options),
    .exact_args = "0-1",
    .more = more_options,
    .run = run,
};
