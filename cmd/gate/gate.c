/* gate: two builds, commands or settings, measured in turns until it is known whether the second is slower.
 *
 * Measures in fresh processes, A B B A; records a run of each side; ends with a table and an exit status. */
#include "cmd/gate/gate.h"

#include "base/clock.h"

#include <string.h>

#define AT(member)     offsetof(struct gate_options, member)
#define AT_RUN(member) AT(run.member)

static const struct pk_opt gate_rows[] = {
    {"a", 0, PK_OPT_TEXT, AT(a), "SIDE", .cli_only = true, .group = "The two sides",
     .help = "the base: a command; with an EXPERIMENT a build of perfkit (build-main) or settings "
             "(dtype=fp32)"},
    {"b", 0, PK_OPT_TEXT, AT(b), "SIDE", .cli_only = true,
     .help = "the side that is judged; same values as --a"},
    {"against", 0, PK_OPT_TEXT, AT(against), "BASE", .commas = true, .cli_only = true,
     .help = "instead of --a and --b: judge a stored RUN (default: the newest) against the stored runs BASE"},
    {"suite", 0, PK_OPT_TEXT, AT_RUN(suite), "FILE", .cli_only = true,
     .help = "measure all entries of the suite file and judge them together (docs/suites.md)"},
    {"name", 0, PK_OPT_TEXT, AT(name), "NAME", .help = "name of the case of the two commands"},
    {"prepare", 0, PK_OPT_TEXT, AT(prepare), "LINE", .code = true,
     .help = "shell command before each run of a command, not timed"},
    {.rows = pk_verdict_rows, .offset = AT(verdict)},
    {"no-fail", 0, PK_OPT_FLAG, AT(no_fail), .cli_only = true,
     .help = "status 0 for every verdict; failures and sides that cannot be compared keep their "
             "own status"},
    {"max-pairs", 0, PK_OPT_INT, AT(max_pairs), "N", 8, 1000,
     .help = "maximum number of pairs of processes; default 20 (6 for all cases, 14 more for suspicious "
             "ones), with --until-clear 30"},
    {"until-clear", 0, PK_OPT_FLAG, AT(until_clear),
     .help = "test after every pair until the verdict is clear; for few rows"},
    {"budget", 0, PK_OPT_DURATION, AT_RUN(budget_ns), "TIME", 1, 3.1536e16,
     .help = "time for all pairs; rows that still need pairs are then undecided"},
    {.rows = pk_run_grid_rows, .offset = AT(run)},
    {.rows = pk_run_place_rows, .offset = AT(run)},
    {"dry-run", 'n', PK_OPT_FLAG, AT_RUN(dry_run), .help = "print the cases of both sides; measure nothing"},
    {"timeout", 0, PK_OPT_DURATION, AT_RUN(timeout_ns), "TIME", 1e6, 3.1536e16, .def = "10m",
     .group = "One process", .help = "time limit for one case, or one run of a command"},
    {.rows = pk_run_process_rows, .offset = AT(run)},
    {.rows = pk_run_device_rows, .offset = AT(run)},
    {.rows = pk_report_rows, .offset = AT(files)},
    {"label", 'l', PK_OPT_TEXT, AT_RUN(label), "LABEL", .group = "The record",
     .help = "label the two runs NAME-a and NAME-b"},
    {"tag", 0, PK_OPT_LIST, AT_RUN(tags), "KEY=VALUE", .help = "further information to store with the runs"},
    {"no-save", 0, PK_OPT_FLAG, AT_RUN(no_save), .help = "print and write the verdicts; store nothing"},
    {0},
};

/* --- options ------------------------------------------------------------------------------------------------------- */

/* Options that say nothing of two commands. */
enum pk_code pk_gate_check_words(const struct gate_entry *e, struct pk_err *err)
{
    static const char *const names[] = {
        "axis",     "preset",    "variant", "filter",  "device", "min-samples", "max-samples",  "min-time",
        "max-time", "max-noise", "warmup",  "threads", "bind",   "cold",        "memory-limit", "no-check"};
    static const char *const of_commands[] = {"name", "prepare"};
    const char *const *list = e->probe ? of_commands : names;
    size_t n = e->probe ? 2 : sizeof names / sizeof *names;
    for (size_t i = 0; i < n; i++) {
        if (pk_opt_source_of(&e->app->tables[1], list[i]) != PK_OPT_COMMAND_LINE)
            continue;
        pk_fail(err, PK_E_USAGE, "--%s has no effect here", list[i]);
        pk_why(err,
               e->probe ? "it is for commands, and %s is an experiment"
                        : "it is for experiments, and none is given%s",
               e->probe ? e->probe->name : "");
        return pk_fix(err, e->probe      ? "omit it"
                           : e->o->pairs ? "perfkit calibrate EXPERIMENT, or omit the option"
                                         : "perfkit gate EXPERIMENT --a ... --b ..., or omit the option");
    }
    return PK_OK;
}

/* Says of thresholds, the n of this section of the suite, where they stand. */
static void place_thresholds(const struct gate *g, const struct pk_suite_section *section,
                             struct pk_threshold *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i].place = pk_suite_place(g->list.path, section, "threshold", i, g->app->arena);
}

static enum pk_code check_options(struct gate *g, struct pk_err *err)
{
    static const char *const of_record[] = {"label", "tag", NULL};
    static const char *const of_measuring[] = {
        "a", "b", "label", "tag", "budget", "max-pairs", "until-clear", "timeout", "dry-run", "seed", NULL};
    static const char *const of_one[] = {"axis", "preset", "variant", "filter", "name", "prepare", NULL};
    static const char *const undecided[] = {"fail-on-undecided", NULL};
    const struct pk_opt_table *table = &g->app->tables[1];
    if (pk_opt_apart(table, "no-fail", undecided, "one makes a gate fail where the other does not", err) ||
        pk_opt_apart(table, "against", of_measuring, "nothing is measured", err) ||
        pk_opt_apart(table, "no-save", of_record, "nothing is recorded", err) ||
        pk_opt_apart(table, "suite", of_one, "the suite file defines what is measured", err) ||
        pk_label_check(g->o->run.label, err) || pk_text_check("name", g->o->name, err) ||
        pk_text_check("prepare", g->o->prepare, err) ||
        pk_verdict_options_check(g->app, &g->o->verdict, &g->thresholds, err))
        return err->code;
    if (g->list.name && pk_opt_source_of(table, "threshold") == PK_OPT_SUITE)
        place_thresholds(g, g->list.common, g->thresholds, g->o->verdict.thresholds.n);
    return g->o->run.suite ? PK_OK : pk_gate_check_words(&g->entries[0], err);
}

/* --- entries --------------------------------------------------------------------------------------------------------- */

static enum pk_code make_entry(const struct gate *g, const struct pk_entry *of, struct gate_entry *e,
                               struct pk_err *err)
{
    struct gate_options *o = of->app->options;
    *e = (struct gate_entry){.of = of, .app = of->app, .o = o, .probe = of->probe};
    if (!of->name)
        return PK_OK;
    o->a = of->a ? of->a : g->o->a ? g->o->a : g->list.a;
    o->b = of->b ? of->b : g->o->b ? g->o->b : g->list.b;
    e->n_thresholds = pk_entry_gives(of, "threshold") ? o->verdict.thresholds.n : 0;
    if (pk_verdict_options_check(of->app, &o->verdict, &e->thresholds, err))
        return pk_entry_within(of, err);
    place_thresholds(g, of->section, e->thresholds, e->n_thresholds);
    return of->probe || g->o->against ? PK_OK : pk_gate_read_command(of, o, err);
}

enum pk_code pk_gate_open(struct gate *g, const struct pk_probe *probe, struct pk_err *err)
{
    if (pk_entries_open(g->app, g->o->run.suite, probe, "gate", &g->list, err))
        return err->code;
    g->n_entries = g->list.n;
    g->entries = pk_new_n(g->app->arena, struct gate_entry, g->n_entries);
    for (size_t i = 0; i < g->n_entries; i++)
        if (make_entry(g, &g->list.v[i], &g->entries[i], err))
            return err->code;
    return PK_OK;
}

/* --- measuring ------------------------------------------------------------------------------------------------------ */

static void show_progress(void *user, size_t done, size_t total, int64_t left_ns)
{
    struct gate *g = user;
    const struct pk_planned_case pair = {.variant = "pairs"};
    const struct pk_slice ok = {.message = ""};
    pk_progress_slice(g->app->progress, &pair, &ok, done, total, left_ns);
}

/* The same words from every process are printed once. */
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
    struct pk_gate_options options = {
        .rule = pk_gate_rule(o), .budget_ns = o->run.budget_ns, .seed = g->order_seed};
    const struct pk_gate_events events = {show_progress, g};
    struct pk_progress progress;
    if (o->pairs) { /* of equal sides all pairs are one screening */
        options.rule.screen_pairs = (size_t)o->pairs;
        options.rule.confirm_pairs = 0;
    }
    pk_progress_begin(&progress, g->app);
    enum pk_code rc =
        pk_gate_run(g->parts, g->n_entries, &g->samples, &options, &events, g->app->arena, &g->result, err);
    pk_progress_end(&progress);
    return rc && g->result.wrong.n ? pk_all_errors(&g->result.wrong, err) : rc;
}

/* Before anything is measured: the cases, whether the sides differ at all, and what is known of the noise. */
static enum pk_code plan(struct gate *g, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    struct pk_err of_entry;
    for (size_t i = 0; i < g->n_entries; i++) {
        struct gate_entry *e = &g->entries[i];
        if (e->probe && pk_gate_plan(g, i, &of_entry)) {
            pk_entry_within(e->of, &of_entry);
            rc = pk_another_error(rc, &of_entry, err);
            continue;
        }
        e->equal = g->o->pairs || pk_gate_equal(e);
        if (!rc && !e->equal && pk_gate_read_noise(g, e, err))
            return pk_entry_within(e->of, err);
    }
    return rc ? rc : pk_gate_check_criteria(g, err);
}

/* Beside the samples that were judged. That they cannot be written is no reason to end without an outcome: the samples can be judged again. */
static void record_verdicts(struct gate *g)
{
    for (size_t i = 0; i < g->n_entries && !g->o->run.no_save; i++) {
        struct gate_entry *e = &g->entries[i];
        struct pk_run *base = &e->side[PK_BASE].run, *new_ = &e->side[PK_NEW].run;
        const struct pk_case_plan *const plans[PK_SIDES] = {e->probe ? &base->plan : NULL,
                                                            e->probe ? &new_->plan : NULL};
        const struct pk_rule rule = pk_gate_rule(e->o);
        struct pk_verdict_row *rows;
        struct pk_err err;
        const size_t n = pk_gate_verdicts(&g->result.comparison, &g->samples, i, plans,
                                          e->side[PK_BASE].experiment.first, &rule, g->app->arena, &rows);
        if (n && !pk_recorder_spool(base->recorder) && !pk_recorder_spool(new_->recorder) &&
            pk_store_verdicts(new_->store, base->run_id, new_->run_id, rows, n, &err))
            pk_warn(g->app, "the verdicts are not recorded: %s: %s", err.what, err.why);
    }
}

static enum pk_code with_stores(struct gate *g, pk_gate_outcome_fn *outcome, struct pk_err *err)
{
    struct pk_err late;
    if (plan(g, err))
        return err->code;
    if (g->o->run.dry_run) {
        pk_gate_print_plan(g);
        return PK_OK;
    }
    if (pk_gate_begin(g, err))
        return err->code;
    enum pk_code rc = measure(g, err);
    enum pk_code ended = pk_gate_end(g, rc || g->result.refused.code, &late);
    if (rc)
        return ended ? pk_another_error(ended, err, &late) : rc;
    if (ended)
        return *err = late, ended;
    for (size_t i = 0; i < g->n_entries; i++) {
        if (g->entries[i].equal && g->result.refused.code) /* it has no calibration to print */
            return *err = g->result.refused, err->code;
        if (g->entries[i].equal && pk_gate_calibrate(g, i, err))
            return err->code;
    }
    record_verdicts(g);
    return outcome(g, err);
}

/* A store per side: each is the recorder of one run. */
enum pk_code pk_gate_measure(struct gate *g, pk_gate_outcome_fn *outcome, struct pk_err *err)
{
    const struct pk_session_events events = {.warning = warn_once, .user = g};
    enum pk_code rc = PK_OK;
    for (size_t i = 0; !rc && i < PK_SIDES * g->n_entries; i++) {
        struct gate_entry *e = &g->entries[i / PK_SIDES];
        struct gate_side *s = &e->side[i % PK_SIDES];
        s->experiment.events = &events;
        rc = pk_open_store(e->app, e->o->run.no_save ? ":memory:" : NULL, PK_STORE_WRITE, &s->run.store, err);
    }
    if (!rc)
        rc = with_stores(g, outcome, err);
    for (size_t i = 0; i < PK_SIDES * g->n_entries; i++) {
        struct pk_run *r = &g->entries[i / PK_SIDES].side[i % PK_SIDES].run;
        pk_recorder_free(r->recorder);
        pk_store_close(r->store);
    }
    return rc;
}

static enum pk_code gate_now(struct gate *g, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    struct pk_err of_entry;
    for (size_t i = 0; i < g->n_entries; i++) {
        const struct gate_entry *e = &g->entries[i];
        if (!pk_gate_read_sides(&g->entries[i], &of_entry))
            continue;
        pk_entry_within(e->of, &of_entry);
        rc = pk_another_error(rc, &of_entry, err);
        if (!e->o->a || !e->o->b) /* what all lack is reported once */
            break;
    }
    return rc ? rc : pk_gate_measure(g, pk_gate_outcome, err);
}

static enum pk_code gate(struct gate *g, struct pk_err *err)
{
    const struct pk_app *app = g->app;
    struct gate_options *o = g->o;
    const struct pk_probe *probe = NULL;
    if (pk_reports_check(app, &o->files, err))
        return err->code;
    if (o->run.suite && !o->against && app->args.n) {
        pk_fail(err, PK_E_USAGE, "--suite and the experiment %s cannot be combined", app->args.v[0]);
        pk_why(err, "the suite file defines the experiments");
        return pk_fix(err, "omit one of them");
    }
    if ((!o->run.suite && !o->against && app->args.n &&
         pk_experiment_named(g->app, app->args.v[0], &probe, err)) ||
        pk_gate_open(g, probe, err) || check_options(g, err))
        return err->code;
    if (o->against)
        return pk_gate_against(g, err);
    return gate_now(g, err);
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    struct gate g = {
        .app = app, .o = app->options, .began_ns = pk_clock_ns(), .samples = {.arena = app->arena}};
    const enum pk_code rc = gate(&g, err);
    return rc && !g.reported ? pk_gate_report_error(&g, err) : rc;
}

const struct pk_cmd pk_cmd_gate = {
    .name = "gate",
    .summary = "is b slower than a? measure two builds or commands in turns",
    .usage = "gate [EXPERIMENT] --a SIDE --b SIDE | gate --against BASE [RUN] | gate --suite FILE ...",
    .examples = "perfkit gate --a './solve-main input' --b './solve input'\n"
                "perfkit gate attention-scaling --a build-main --b build --variant flash\n"
                "perfkit gate attention-scaling --a dtype=fp32 --b dtype=bf16 --until-clear\n"
                "perfkit gate --against main @                   stored runs: the newest\n"
                "perfkit gate tree-patch --a ../main/build --b build --junit gate.xml\n"
                "perfkit gate --suite perf.ini --a ../main/build --b build\n"
                "perfkit gate --no-fail --a ./old --b ./new      status 0 for every verdict\n",
    .options = gate_rows,
    .options_bytes = sizeof(struct gate_options),
    .exact_args = "0-1",
    .axes = PK_AXES_OPTIONAL,
    .run = run,
};
