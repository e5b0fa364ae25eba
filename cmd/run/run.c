/* run: measures an experiment, or every entry of a suite, records each, prints their tables.
 *
 * All entries are validated before the first is measured. */
#include "cmd/run/run.h"

#include "cmd/exec.h"
#include "cmd/frame/entries.h"

#include "base/clock.h"
#include "base/text/words.h"
#include "opt/opt.h"

#include <stddef.h>
#include <string.h>

#define AT(member) offsetof(struct pk_run_options, member)

static const struct pk_opt options[] = {
    {.rows = pk_run_grid_rows},
    {"peer", .type = PK_OPT_LIST, .offset = AT(peers), .arg = "PEER", .commas = true, .code = true,
     .help = "implementations of other programs, measured in the same shuffled run, such as "
             "torch-eager,torch-compile"},
    {.rows = pk_run_place_rows},
    {"suite", .type = PK_OPT_TEXT, .offset = AT(suite), .arg = "FILE", .cli_only = true,
     .help = "measure all entries of a suite file instead of one experiment (docs/suites.md)"},
    {"dry-run", .letter = 'n', .type = PK_OPT_FLAG, .offset = AT(dry_run),
     .help = "print the cases with parameter counts, memory and time estimates; measure nothing"},

    {"invocations", .letter = 'i', .type = PK_OPT_INT, .offset = AT(invocations), .arg = "N", .min = 1,
     .max = 1000, .def = "3", .group = "How long",
     .help = "number of processes per case, each with a new random order of the cases"},
    {.rows = pk_run_process_rows},
    {"budget", .type = PK_OPT_DURATION, .offset = AT(budget_ns), .arg = "TIME", .min = 1, .max = 3.1536e16,
     .help = "time for the whole run; what does not fit is skipped and reported"},
    {"timeout", .type = PK_OPT_DURATION, .offset = AT(timeout_ns), .arg = "TIME", .min = 1e6,
     .max = 3.1536e16, .def = "10m", .help = "time limit for one case in one process"},
    {"peer-startup", .type = PK_OPT_DURATION, .offset = AT(peer_startup_ns), .arg = "TIME", .max = 3.1536e16,
     .def = "5m", .help = "time for a peer to start and to compile a case, in addition to --timeout"},
    {"profile", .type = PK_OPT_INT, .offset = AT(profile), .arg = "N", .min = 1, .max = 100000,
     .help = "run N iterations of each case in this process, between cudaProfilerStart and cudaProfilerStop, "
             "and store nothing: for use under nsys, ncu, perf (perfkit help profilers)"},
    {"once", .type = PK_OPT_FLAG, .offset = AT(once), .help = "the same as --profile 1"},

    {.rows = pk_run_device_rows},
    {"python", .type = PK_OPT_TEXT, .offset = AT(python), .arg = "PATH", .code = true,
     .help = "Python interpreter for peers; default python3"},

    {"counters", .type = PK_OPT_TEXT, .offset = AT(counters), .arg = "COUNTER", .commas = true,
     .group = "In addition to times",
     .help = "also count events, in separate passes: groups and events of `perfkit list counters`, such as "
             "sw,page_faults"},
    {"breakdown", .type = PK_OPT_FLAG, .offset = AT(breakdown),
     .help = "show the time, FLOPs and bytes of each region and kernel or operation, from a separate pass"},
    {"allocations", .type = PK_OPT_FLAG, .offset = AT(allocations),
     .help = "show the use of device memory by region and purpose, from a separate pass"},

    {"label", .letter = 'l', .type = PK_OPT_TEXT, .offset = AT(label), .arg = "LABEL", .group = "The record",
     .help = "label of the run, which can be used wherever a run is named"},
    {"tag", .type = PK_OPT_LIST, .offset = AT(tags), .arg = "KEY=VALUE",
     .help = "further information to store with the run"},
    {"resume", .type = PK_OPT_FLAG, .offset = AT(resume),
     .help = "continue the newest run of this experiment (with --label: the newest of that label), if it was "
             "interrupted, or if its --budget left out cases, counters, kernels or allocations"},
    {"no-save", .type = PK_OPT_FLAG, .offset = AT(no_save), .help = "print the tables; store nothing"},
    {"tables", .type = PK_OPT_LIST, .offset = AT(tables), .arg = "TABLE", .cli_only = true, .commas = true,
     .help = "print these tables, or all, instead of findings and headline table"},
    {0},
};

/* One entry on its way: an experiment, or a command. */
struct item {
    const struct pk_entry *entry;
    struct pk_run run;
    struct exec exec;
    enum pk_code code;
    bool measured;
};

struct run_list {
    struct pk_app *app;
    const struct pk_run_options *o; /* of all */
    struct pk_entries entries;
    struct item *v;
    struct pk_store *store;
    struct pk_err worst;
};

/* --- before anything is measured ---------------------------------------------------------------------------------------- */

/* The options of the whole suite hold for its commands, too. */
static enum pk_code prepare_command(struct run_list *l, struct item *i, struct pk_err *err)
{
    struct exec_options *o = i->entry->app->options;
    struct pk_texts line = {0};
    const char *text;
    o->label = l->o->label;
    o->no_save = l->o->no_save;
    if (!o->names.n)
        pk_texts_add(&o->names, i->entry->name, l->app->arena);
    i->exec = (struct exec){.app = i->entry->app, .o = o, .store = l->store};
    if (pk_entry_command(i->entry, l->entries.b, &text, err))
        return err->code;
    pk_texts_add(&line, text, l->app->arena);
    return pk_exec_check(&i->exec, &line, false, err) ? pk_entry_within(i->entry, err) : PK_OK;
}

/* --- measuring ------------------------------------------------------------------------------------------------------------- */

/* A fair share of the remaining total budget; an entry's own budget is limited by it. */
static void share_budget(const struct run_list *l, struct item *i, size_t left, uint64_t began_ns)
{
    struct pk_run_options *o = i->run.o;
    if (!l->o->budget_ns || !i->entry->name)
        return;
    const int64_t rest = l->o->budget_ns - (int64_t)(pk_clock_ns() - began_ns);
    const int64_t share = rest > (int64_t)left ? rest / (int64_t)left : 1;
    if (!pk_entry_gives(i->entry, "budget") || share < o->budget_ns)
        o->budget_ns = share;
}

/* Cases that fail or do not fit end no suite; what stops every entry does. */
static bool goes_on(enum pk_code code)
{
    return code == PK_OK || code == PK_E_CHECK || code == PK_E_NOTHING || code == PK_E_UNAVAILABLE;
}

/* The result is the first failure; a failed case has priority over one that could not be measured. */
static void remember(struct run_list *l, const struct item *i, struct pk_err *err)
{
    if (i->code == PK_OK || l->worst.code == PK_E_CHECK || (l->worst.code && i->code != PK_E_CHECK))
        return;
    l->worst = *err;
    pk_entry_within(i->entry, &l->worst);
}

/* `exec` prints none: its table is its whole output. NULL = there is no run. */
static const char *closing_note_of_command(const struct run_list *l, const struct item *i)
{
    struct pk_arena *a = l->app->arena;
    const char *what = pk_printf(a, "%s measured", pk_plural((size_t)i->exec.results[0].runs, "process", a));
    if (l->o->no_save)
        return pk_printf(a, "%s; not recorded", what);
    return i->exec.run_id ? pk_printf(a, "run %lld%s%s: %s", (long long)i->exec.run_id,
                                      l->o->label ? " " : "", l->o->label ? l->o->label : "", what)
                          : NULL;
}

static enum pk_code measure(struct run_list *l, struct item *i, size_t left, uint64_t began_ns,
                            struct pk_err *err)
{
    i->measured = true;
    if (i->entry->probe) {
        share_budget(l, i, left, began_ns);
        i->run.began_ns = pk_clock_ns();
        i->code = pk_run_measure(&i->run, err);
    } else {
        i->code = pk_exec_measure(&i->exec, err);
    }
    const char *closing_note = i->entry->probe ? i->entry->app->closing_note : closing_note_of_command(l, i);
    if (closing_note && i->entry->name)
        pk_print_note(l->app, "[%s] %s", i->entry->name, closing_note);
    if (goes_on(i->code))
        remember(l, i, err);
    return goes_on(i->code) ? PK_OK : pk_entry_within(i->entry, err);
}

/* --- what is printed --------------------------------------------------------------------------------------------------------- */

static const char *outcome(const struct item *i)
{
    return !i->measured              ? "not reached"
           : i->code == PK_OK        ? "ok"
           : i->code == PK_E_CHECK   ? "failed"
           : i->code == PK_E_NOTHING ? "nothing measured"
                                     : "interrupted";
}

/* Which run is which entry's. */
static void print_entries(const struct run_list *l)
{
    static const struct pk_column columns[] = {
        {.key = "entry", .heading = "Entry", .left = true},
        {.key = "experiment", .heading = "Experiment", .left = true},
        {.key = "run_id", .heading = "Run", .decimals = -1},
        {.key = "answer", .heading = "Outcome", .left = true, .state = true},
    };
    pk_out_table(l->app->out, "suite", pk_printf(l->app->arena, "Suite %s", l->entries.name),
                 PK_COLUMNS(columns));
    for (size_t k = 0; k < l->entries.n; k++) {
        const struct item *i = &l->v[k];
        const int64_t id = i->entry->probe ? i->run.run_id : i->exec.run_id;
        struct pk_row *row = pk_row_begin(l->app->out);
        pk_put_text(row, "entry", i->entry->name);
        pk_put_text(row, "experiment", i->entry->probe ? i->entry->probe->name : "exec");
        if (id && !l->o->no_save)
            pk_put_int(row, "run_id", id);
        pk_put_text(row, "answer", outcome(i));
        pk_row_end(row);
    }
}

static const struct pk_column plan_columns[] = {
    {.key = "entry", .heading = "Entry", .left = true},
    {.key = "experiment", .heading = "Experiment", .left = true},
    {.key = "variant", .heading = "Variant", .left = true},
    {.key = "axes", .heading = "Case", .left = true, .json = true},
    {.key = "expected_ns", .heading = "Est. time (s)", .scale = 1e9, .decimals = 1},
    {.key = "status", .heading = "Status", .left = true},
};

static void print_cases(const struct item *i, struct pk_out *out, struct pk_arena *a)
{
    const struct pk_run *r = &i->run;
    for (size_t k = 0; k < r->plan.n; k++) {
        const struct pk_planned_case *p = &r->plan.v[k];
        struct pk_row *row = pk_row_begin(out);
        pk_put_text(row, "entry", i->entry->name);
        pk_put_text(row, "experiment", r->probe->name);
        pk_put_text(row, "variant", p->variant);
        pk_put_text(row, "axes", pk_point_json(&p->c.at, a));
        if (r->duration.case_ns[k] > 0)
            pk_put_real(row, "expected_ns", r->duration.case_ns[k]);
        pk_put_text(row, "status", pk_run_outlook(r, p, a));
        pk_row_end(row);
    }
}

static enum pk_code print_plan(struct run_list *l, struct pk_err *err)
{
    pk_out_table(l->app->out, "suite_plan", pk_printf(l->app->arena, "Suite %s", l->entries.name),
                 PK_COLUMNS(plan_columns));
    for (size_t k = 0; k < l->entries.n; k++) {
        struct item *i = &l->v[k];
        if (!i->entry->probe) {
            struct pk_row *row = pk_row_begin(l->app->out);
            pk_put_text(row, "entry", i->entry->name);
            pk_put_text(row, "experiment", "exec");
            pk_put_text(row, "variant", i->exec.commands[0].name);
            pk_put_text(row, "status", "measured");
            pk_row_end(row);
            continue;
        }
        pk_run_estimate(&i->run);
        if (pk_run_duration(&i->run, err))
            return err->code;
        print_cases(i, l->app->out, l->app->arena);
    }
    const char *last = ""; /* what entry after entry does not know is printed once */
    for (size_t k = 0; k < l->entries.n; k++) {
        const char *note = l->v[k].entry->probe ? pk_run_device_note(&l->v[k].run) : NULL;
        if (!note || !strcmp(note, last))
            continue;
        pk_out_note(l->app->out, note);
        last = note;
    }
    return PK_OK;
}

/* --- all of it ------------------------------------------------------------------------------------------------------------------ */

static enum pk_code with_store(struct run_list *l, struct pk_err *err)
{
    const uint64_t began_ns = pk_clock_ns();
    enum pk_code rc = PK_OK;
    struct pk_err of_entry;
    for (size_t k = 0; k < l->entries.n; k++) {
        struct item *i = &l->v[k];
        if (!i->entry->probe) {
            if (prepare_command(l, i, &of_entry))
                rc = pk_another_error(rc, &of_entry, err);
            continue;
        }
        i->run.store = l->store;
        if (pk_run_check(&i->run, &of_entry) || pk_run_prepare(&i->run, &of_entry)) {
            pk_entry_within(i->entry, &of_entry);
            rc = pk_another_error(rc, &of_entry, err);
        }
    }
    if (rc)
        return rc;
    if (l->o->dry_run && l->entries.name)
        return print_plan(l, err);
    for (size_t k = 0; !rc && k < l->entries.n; k++)
        rc = measure(l, &l->v[k], l->entries.n - k, began_ns, err);
    if (l->entries.name)
        print_entries(l);
    if (!rc && l->worst.code)
        *err = l->worst;
    return rc ? rc : l->worst.code;
}

static enum pk_code check_subject(const struct pk_app *app, const struct pk_run_options *o,
                                  struct pk_err *err)
{
    if (app->args.n != (o->suite != NULL))
        return PK_OK;
    pk_fail(err, PK_E_USAGE,
            o->suite ? "--suite and the experiment %s cannot be combined" : "perfkit run: no experiment%s",
            o->suite ? app->args.v[0] : "");
    pk_why(err,
           o->suite ? "the suite file defines the experiments" : "usage: perfkit run EXPERIMENT [options]");
    return pk_fix(err, o->suite ? "omit one of them" : "perfkit run -h shows examples");
}

static enum pk_code open_list(struct run_list *l, struct pk_err *err)
{
    const struct pk_launcher launcher = pk_launcher_of_process();
    const struct pk_probe *probe = NULL;
    if (check_subject(l->app, l->o, err) ||
        (!l->o->suite && pk_experiment_named(l->app, l->app->args.v[0], &probe, err)))
        return err->code;
    struct pk_run all = pk_run_of(l->app, l->app->options, probe);
    if (pk_run_check(&all, err))
        return err->code;
    if (l->o->suite && launcher.size > 1) {
        pk_fail(err, PK_E_USAGE, "--suite under %s", launcher.by);
        pk_why(err, "the %u processes that it started are ranks of one experiment", launcher.size);
        return pk_fix(err, "run the suite without %s: it starts its own ranks", launcher.by);
    }
    if (pk_entries_open(l->app, l->o->suite, probe, "exec", &l->entries, err) ||
        pk_label_check(l->o->label, err)) /* once more: the file may give it */
        return err->code;
    l->v = pk_new_n(l->app->arena, struct item, l->entries.n);
    for (size_t k = 0; k < l->entries.n; k++) {
        const struct pk_entry *e = &l->entries.v[k];
        l->v[k].entry = e;
        if (e->probe)
            l->v[k].run = pk_run_of(e->app, e->app->options, e->probe);
    }
    if (!l->o->suite) {
        l->v[0].run.launcher = launcher;
        pk_run_take_ranks(&l->v[0].run);
    }
    return PK_OK;
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    struct run_list l = {.app = app, .o = app->options};
    if (open_list(&l, err))
        return err->code;
    struct pk_run *first = &l.v[0].run;
    if (first->launcher.rank)
        return pk_run_follow(first, err);
    if (l.o->profile && !l.o->dry_run && !l.o->suite)
        return pk_run_profile(first, err);
    if (pk_open_store(app, l.o->no_save ? ":memory:" : NULL, PK_STORE_WRITE, &l.store, err))
        return err->code;
    const enum pk_code rc = with_store(&l, err);
    pk_store_close(l.store);
    return rc;
}

const struct pk_cmd pk_cmd_run = {
    .name = "run",
    .summary = "measure an experiment, record it, print its tables",
    .usage = "run EXPERIMENT [--AXIS VALUES] [options] | run --suite FILE [options]",
    .examples = "perfkit run attention-scaling\n"
                "perfkit run attention-scaling --seq-len 256:16384:*2 --variant flash\n"
                "perfkit run attention-scaling --preset seed --budget 10m --label before\n"
                "perfkit run attention-scaling --dry-run\n"
                "perfkit run ./bench.py            a program that describes itself\n"
                "perfkit run --suite perf.ini --label nightly\n",
    .options = options,
    .options_bytes = sizeof(struct pk_run_options),
    .exact_args = "0-1",
    .axes = PK_AXES_REQUIRED,
    .plots = true,
    .run = run,
};
