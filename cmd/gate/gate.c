/* gate: two builds, commands or settings, measured in turns until it is known whether the second is slower.
 *
 * Measures in fresh processes, A B B A; records a run of each side; ends with a table and an exit status. */
#include "cmd/gate/gate.h"

#include "base/clock.h"

#include <string.h>

#define AT(member)     offsetof(struct gate_options, member)
#define AT_RUN(member) AT(run.member)

const struct pk_opt pk_gate_record_rows[] = {
    {"label", .letter = 'l', .type = PK_OPT_TEXT, .offset = offsetof(struct pk_run_options, label),
     .arg = "LABEL", .group = "The record", .help = "label the two runs NAME-a and NAME-b"},
    {"tag", .type = PK_OPT_LIST, .offset = offsetof(struct pk_run_options, tags), .arg = "KEY=VALUE",
     .help = "further information to store with the runs"},
    {0},
};

static const struct pk_opt gate_rows[] = {
    {"a", .type = PK_OPT_TEXT, .offset = AT(a), .arg = "SIDE", .cli_only = true, .group = "The two sides",
     .help = "the base: a command; with an EXPERIMENT a build of perfkit (build-main) or settings "
             "(dtype=fp32)"},
    {"b", .type = PK_OPT_TEXT, .offset = AT(b), .arg = "SIDE", .cli_only = true,
     .help = "the side that is judged; same values as --a"},
    {"against", .type = PK_OPT_TEXT, .offset = AT(against), .arg = "BASE", .commas = true, .cli_only = true,
     .help = "instead of --a and --b: judge a stored RUN (default: the newest) against the stored runs BASE"},
    {"suite", .type = PK_OPT_TEXT, .offset = AT_RUN(suite), .arg = "FILE", .cli_only = true,
     .help = "measure all entries of the suite file and judge them together (docs/suites.md)"},
    {"name", .type = PK_OPT_TEXT, .offset = AT(name), .arg = "NAME",
     .help = "name of the case of the two commands"},
    {"prepare", .type = PK_OPT_TEXT, .offset = AT(prepare), .arg = "LINE", .code = true,
     .help = "shell command before each run of a command, not timed"},
    {.rows = pk_verdict_rows, .offset = AT(verdict)},
    {"no-fail", .type = PK_OPT_FLAG, .offset = AT(no_fail), .cli_only = true,
     .help = "status 0 for every verdict; failures and sides that cannot be compared keep their "
             "own status"},
    {"max-pairs", .type = PK_OPT_INT, .offset = AT(max_pairs), .arg = "N", .min = 8, .max = 1000,
     .help = "maximum number of pairs of processes; default 20 (6 for all cases, 14 more for suspicious "
             "ones), with --until-clear 30"},
    {"until-clear", .type = PK_OPT_FLAG, .offset = AT(until_clear),
     .help = "test after every pair until the verdict is clear; for few rows"},
    {"budget", .type = PK_OPT_DURATION, .offset = AT_RUN(budget_ns), .arg = "TIME", .min = 1,
     .max = 3.1536e16, .help = "time for all pairs; rows that still need pairs are then undecided"},
    {.rows = pk_run_grid_rows, .offset = AT(run)},
    {.rows = pk_run_place_rows, .offset = AT(run)},
    {"dry-run", .letter = 'n', .type = PK_OPT_FLAG, .offset = AT_RUN(dry_run),
     .help = "print the cases of both sides; measure nothing"},
    {"timeout", .type = PK_OPT_DURATION, .offset = AT_RUN(timeout_ns), .arg = "TIME", .min = 1e6,
     .max = 3.1536e16, .def = "10m", .group = "One process",
     .help = "time limit for one case, or one run of a command"},
    {.rows = pk_run_process_rows, .offset = AT(run)},
    {.rows = pk_run_device_rows, .offset = AT(run)},
    {.rows = pk_report_rows, .offset = AT(files)},
    {.rows = pk_gate_record_rows, .offset = AT(run)},
    {"no-save", .type = PK_OPT_FLAG, .offset = AT_RUN(no_save),
     .help = "print and write the verdicts; store nothing"},
    {0},
};

/* --- options ------------------------------------------------------------------------------------------------------- */

/* Options that say nothing of two commands. */
enum pk_code pk_gate_check_options(const struct gate_entry *e, struct pk_err *err)
{
    static const char *const names[] = {
        "axis",     "preset",    "variant", "filter",  "device", "min-samples", "max-samples",  "min-time",
        "max-time", "max-noise", "warmup",  "threads", "bind",   "cold",        "memory-limit", "no-check"};
    static const char *const of_commands[] = {"name", "prepare"};
    const char *const *list = e->sides->probe ? of_commands : names;
    size_t n = e->sides->probe ? 2 : sizeof names / sizeof *names;
    for (size_t i = 0; i < n; i++) {
        if (pk_opt_source_of(&e->app->tables[1], list[i]) != PK_OPT_COMMAND_LINE)
            continue;
        pk_fail(err, PK_E_USAGE, "--%s has no effect here", list[i]);
        pk_why(err,
               e->sides->probe ? "it is for commands, and %s is an experiment"
                               : "it is for experiments, and none is given%s",
               e->sides->probe ? e->sides->probe->name : "");
        return pk_fix(err, e->sides->probe ? "omit it"
                           : e->o->pairs   ? "perfkit calibrate EXPERIMENT, or omit the option"
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
    static const char *const of_measuring[] = {
        "a", "b", "label", "tag", "budget", "max-pairs", "until-clear", "timeout", "dry-run", "seed", NULL};
    static const char *const of_one[] = {"axis", "preset", "variant", "filter", "name", "prepare", NULL};
    static const char *const undecided[] = {"fail-on-undecided", NULL};
    const struct pk_opt_table *table = &g->app->tables[1];
    if (pk_opt_exclusive(table, "no-fail", undecided, "they contradict each other", err) ||
        pk_opt_exclusive(table, "against", of_measuring, "nothing is measured", err) ||
        pk_record_options_check(table, g->o->run.label, err) ||
        pk_opt_exclusive(table, "suite", of_one, "the suite file defines what is measured", err) ||
        pk_text_check("name", g->o->name, err) || pk_text_check("prepare", g->o->prepare, err) ||
        pk_verdict_options_check(g->app, &g->o->verdict, &g->thresholds, err))
        return err->code;
    if (g->list.name && pk_opt_source_of(table, "threshold") == PK_OPT_SUITE)
        place_thresholds(g, g->list.common, g->thresholds, g->o->verdict.thresholds.n);
    return g->o->run.suite ? PK_OK : pk_gate_check_options(&g->entries[0], err);
}

/* --- entries --------------------------------------------------------------------------------------------------------- */

static enum pk_code make_entry(const struct gate *g, const struct pk_entry *of, struct gate_entry *e,
                               struct pk_err *err)
{
    struct gate_options *o = of->app->options;
    *e = (struct gate_entry){.of = of, .app = of->app, .o = o, .sides = &g->sides[e - g->entries]};
    e->sides->probe = of->probe;
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
    g->sides = pk_new_n(g->app->arena, struct pk_gate_sides, g->n_entries);
    g->parts = pk_new_n(g->app->arena, struct pk_gate_part, g->n_entries);
    for (size_t i = 0; i < g->n_entries; i++)
        if (make_entry(g, &g->list.v[i], &g->entries[i], err))
            return err->code;
    return PK_OK;
}

static struct pk_rule rule_of(const struct gate_options *o)
{
    struct pk_rule r = pk_verdict_rule(&o->verdict);
    r.until_clear = o->until_clear;
    if (o->max_pairs)
        pk_rule_of_pairs(&r, (size_t)o->max_pairs);
    return r;
}

/* The criteria of the entry's rows: its own, and those of all. */
static struct pk_criteria criteria_of(const struct gate *g, const struct gate_entry *e)
{
    const bool own_effect = pk_entry_gives(e->of, "min-effect");
    return (struct pk_criteria){
        .own = e->thresholds,
        .n_own = e->n_thresholds,
        .min_effect = own_effect ? e->o->verdict.min_effect : 0,
        .all = g->thresholds,
        .n_all = g->o->verdict.thresholds.n,
        .typed = pk_opt_source_of(&g->app->tables[1], "threshold") > PK_OPT_SUITE_ENTRY,
    };
}

/* What the options say of both sides; what all entries have in common is the gate's. */
static void describe(const struct gate *g, const struct gate_entry *e)
{
    const struct gate_options *o = e->o;
    struct pk_gate_sides *s = e->sides;
    s->arena = e->app->arena;
    s->name = e->of->name;
    s->place = e->of->place;
    s->options = &o->run;
    s->what = &o->verdict;
    s->case_name = o->name;
    s->prepare = o->prepare;
    s->rule = rule_of(o);
    s->criteria = criteria_of(g, e);
    s->max_pairs = pk_entry_gives(e->of, "max-pairs") ? (size_t)o->max_pairs : 0;
    s->budget_ns = pk_entry_gives(e->of, "budget") ? o->run.budget_ns : 0;
    s->calibration = o->pairs > 0;
}

static void describe_entries(const struct gate *g)
{
    for (size_t i = 0; i < g->n_entries; i++)
        describe(g, &g->entries[i]);
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
    pk_print_warning(g->app, "%s", text);
}

static enum pk_code measure(struct gate *g, struct pk_err *err)
{
    const struct gate_options *o = g->o;
    struct pk_gate_options options = {
        .rule = rule_of(o), .budget_ns = o->run.budget_ns, .seed = g->order_seed};
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

/* Without a record: of the store that would be written to. That there is none is no reason not to measure. */
static enum pk_code read_noise(const struct gate *g, const struct gate_entry *e, struct pk_err *err)
{
    const bool given = pk_opt_source_of(&e->app->tables[1], "min-effect") != PK_OPT_DEFAULT;
    PK_STORE_CLEANUP struct pk_store *own = NULL;
    struct pk_err ignored;
    if (e->o->run.no_save && pk_open_store(e->app, NULL, PK_STORE_READ, &own, &ignored))
        return PK_OK;
    return pk_gate_sides_noise(e->sides, own ? own : e->sides->side[PK_BASE].run.store, &g->samples, given,
                               err);
}

/* Before anything is measured: the cases, whether the sides differ at all, and what is known of the noise. */
static enum pk_code plan(struct gate *g, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    struct pk_err of_entry;
    struct pk_errs wrong = {.arena = g->app->arena};
    for (size_t i = 0; i < g->n_entries; i++) {
        const struct gate_entry *e = &g->entries[i];
        const char *warning = NULL;
        if (e->sides->probe && pk_gate_sides_plan(e->sides, i, &g->samples, &warning, &of_entry)) {
            pk_entry_within(e->of, &of_entry);
            rc = pk_another_error(rc, &of_entry, err);
            continue;
        }
        if (warning)
            pk_print_warning(e->app, "%s", warning);
        pk_gate_sides_compare(e->sides);
        if (!rc && !e->sides->equal && read_noise(g, e, err))
            return pk_entry_within(e->of, err);
    }
    if (!rc && pk_gate_sides_check_criteria(g->sides, g->n_entries, &g->samples, &wrong, err))
        rc = pk_all_errors(&wrong, err);
    return rc;
}

/* That they cannot be written is no reason to end without an outcome: the samples can be judged again. */
static void record_verdicts(const struct gate *g)
{
    struct pk_err err;
    for (size_t i = 0; i < g->n_entries && !g->o->run.no_save; i++)
        if (pk_gate_sides_verdicts(&g->sides[i], i, &g->result.comparison, &g->samples, &err))
            pk_print_warning(g->app, "the verdicts are not recorded: %s: %s", err.what, err.why);
}

static enum pk_code with_stores(struct gate *g, pk_gate_outcome_fn *outcome, struct pk_err *err)
{
    struct pk_errs unwritten = {.arena = g->app->arena};
    struct pk_err late;
    if (plan(g, err))
        return err->code;
    if (g->o->run.dry_run) {
        pk_gate_print_plan(g);
        return PK_OK;
    }
    if (pk_gate_sides_begin(g->sides, g->n_entries, &g->samples, &g->events, g->parts, &g->order_seed, err))
        return err->code;
    enum pk_code rc = measure(g, err);
    pk_gate_sides_end(g->sides, g->n_entries, &g->result, rc || g->result.refused.code, &unwritten);
    const enum pk_code ended = pk_all_errors(&unwritten, &late);
    if (rc)
        return ended ? pk_another_error(ended, err, &late) : rc;
    if (ended)
        return *err = late, ended;
    for (size_t i = 0; i < g->n_entries; i++) {
        if (g->sides[i].equal && g->result.refused.code) /* it has no calibration to print */
            return *err = g->result.refused, err->code;
        if (g->sides[i].equal && pk_gate_sides_calibrate(&g->sides[i], i, &g->result, &g->samples, err))
            return err->code;
    }
    record_verdicts(g);
    return outcome(g, err);
}

/* A store per side: each is the recorder of one run. */
enum pk_code pk_gate_measure(struct gate *g, pk_gate_outcome_fn *outcome, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    g->events = (struct pk_session_events){.warning = warn_once, .user = g};
    describe_entries(g);
    for (size_t i = 0; !rc && i < PK_SIDES * g->n_entries; i++) {
        const struct gate_entry *e = &g->entries[i / PK_SIDES];
        rc = pk_open_store(e->app, e->o->run.no_save ? ":memory:" : NULL, PK_STORE_WRITE,
                           &e->sides->side[i % PK_SIDES].run.store, err);
    }
    if (!rc)
        rc = with_stores(g, outcome, err);
    for (size_t i = 0; i < PK_SIDES * g->n_entries; i++) {
        struct pk_run *r = &g->sides[i / PK_SIDES].side[i % PK_SIDES].run;
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
    if (!o->against)
        return gate_now(g, err);
    describe_entries(g);
    return pk_gate_against(g, err);
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
