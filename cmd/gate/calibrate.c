/* calibrate: how much equal work differs on this machine, and how small a change a gate can see here.
 *
 * A gate whose sides are the same: fresh processes in turns. What it finds is kept, and gates use it. */
#include "cmd/gate/gate.h"

#include "base/clock.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "judge/report/comparison.h"

#include <string.h>

#define OF(member)         offsetof(struct gate_options, member)
#define OF_VERDICT(member) OF(verdict.member)
#define AT_RUN(member)     OF(run.member)

static const struct pk_opt options[] = {
    {"pairs", .letter = 'n', .type = PK_OPT_INT, .offset = OF(pairs), .arg = "N", .min = 4, .max = 1000,
     .def = "20", .group = "How long", .help = "number of pairs of processes"},
    {"budget", .type = PK_OPT_DURATION, .offset = AT_RUN(budget_ns), .arg = "TIME", .min = 1,
     .max = 3.1536e16, .help = "time for all pairs; at least four pairs are needed"},
    {"interval", .type = PK_OPT_RATIO, .offset = OF(interval), .arg = "RATIO", .min = 1e-4, .max = 0.5,
     .def = "1%", .help = "say how many processes and samples give a median within +- RATIO"},
    {"metric", .letter = 'm', .type = PK_OPT_LIST, .offset = OF_VERDICT(metrics), .arg = "METRIC",
     .commas = true, .help = "calibrate this metric (default: times)"},
    {"all-metrics", .type = PK_OPT_FLAG, .offset = OF_VERDICT(all_metrics),
     .help = "calibrate every metric that is not exact"},
    {"name", .type = PK_OPT_TEXT, .offset = OF(name), .arg = "NAME", .help = "name of the case of a command"},
    {"prepare", .type = PK_OPT_TEXT, .offset = OF(prepare), .arg = "LINE", .code = true,
     .help = "shell command before each run of a command, not timed"},
    {.rows = pk_run_grid_rows, .offset = OF(run)},
    {.rows = pk_run_place_rows, .offset = OF(run)},
    {"timeout", .type = PK_OPT_DURATION, .offset = AT_RUN(timeout_ns), .arg = "TIME", .min = 1e6,
     .max = 3.1536e16, .def = "10m", .group = "One process",
     .help = "time limit for one case, or one run of a command"},
    {.rows = pk_run_process_rows, .offset = OF(run)},
    {.rows = pk_run_device_rows, .offset = OF(run)},
    {.rows = pk_gate_record_rows, .offset = OF(run)},
    {"no-save", .type = PK_OPT_FLAG, .offset = AT_RUN(no_save),
     .help = "print the table; store nothing: gates do not use it"},
    {0},
};

/* --- both sides ------------------------------------------------------------------------------------------------------- */

static void set_sides(struct gate_entry *e, const char *const *argv, const char *text)
{
    struct pk_arena *a = e->app->arena;
    for (int i = 0; i < PK_SIDES; i++) {
        struct pk_gate_side *s = &e->sides->side[i];
        *s = (struct pk_gate_side){.option = i == PK_BASE ? "a" : "b", .text = text, .argv = argv};
        s->run = pk_run_of(e->app, pk_new(a, struct pk_run_options), e->sides->probe);
        *s->run.o = e->o->run;
    }
}

/* Without an experiment the smallest one that says something of the machine. */
static enum pk_code read_sides(struct gate_entry *e, struct pk_err *err)
{
    struct pk_texts *args = &e->app->args;
    int i = 0;
    while (i < e->app->argc && strcmp(e->app->argv[i], "--") != 0)
        i++;
    if (args->n && i < e->app->argc) {
        pk_texts_add(args, NULL, e->app->arena);
        set_sides(e, args->v, args->v[0]);
        return pk_program_find(args->v, err);
    }
    if (args->n > 1) {
        pk_fail(err, PK_E_USAGE, "too many arguments: '%s'", args->v[1]);
        pk_why(err, "one experiment is calibrated at a time, and a command comes after --");
        return pk_fix(err, "perfkit calibrate -- %s %s ...", args->v[0], args->v[1]);
    }
    if (!args->n && !e->o->run.preset)
        e->o->run.preset = "smoke";
    if (pk_experiment_named(e->app, args->n ? args->v[0] : "attention-scaling", &e->sides->probe, err))
        return err->code;
    set_sides(e, pk_probe_provider(e->sides->probe)->argv, e->sides->probe->name);
    return PK_OK;
}

/* --- the outcome ------------------------------------------------------------------------------------------------------ */

static enum pk_code outcome(struct gate *g, struct pk_err *err)
{
    struct pk_arena *a = g->app->arena;
    const struct gate_entry *e = &g->entries[0];
    const struct pk_run *base = &e->sides->side[PK_BASE].run;
    struct pk_err late;
    char took[32];
    pk_out_again(g->app->out,
                 g->o->run.no_save ? NULL : pk_printf(a, "perfkit show %lld", (long long)base->run_id));
    if (pk_gate_print_calibration(e, g->app->out, &late) ||
        pk_compare_print_components(base->store, base->run_id, e->sides->side[PK_NEW].run.run_id,
                                    e->o->interval, a, g->app->out, &late))
        return *err = late, late.code;
    const struct pk_ended_gate ended = pk_gate_as_ended(g);
    if (pk_gate_ended(&ended, err))
        return err->code;
    if (!g->sides[0].n_calibration_rows) {
        pk_fail(err, PK_E_UNDECIDED, "the noise could not be estimated from %s",
                pk_plural(g->result.pairs, "pair", a));
        pk_why(err, "no row has four pairs without outliers; figures must be above 0 and not exact");
        return pk_fix(err, "use a longer --budget or more --pairs, or choose another --metric");
    }
    pk_format_ns((double)(pk_clock_ns() - g->began_ns), took, sizeof took);
    g->app->closing_note =
        pk_printf(a, "calibrated %s with %s in %s%s", pk_plural(g->sides[0].n_calibration_rows, "row", a),
                  pk_plural(g->result.pairs, "pair", a), took,
                  g->o->run.no_save ? "; not recorded" : "; gates of these cases on this machine use it");
    return PK_OK;
}

static enum pk_code check_options(const struct gate_entry *e, struct pk_err *err)
{
    const struct pk_opt_table *table = &e->app->tables[1];
    if (pk_record_options_check(table, e->o->run.label, err) || pk_metric_options_check(table, err) ||
        pk_text_check("name", e->o->name, err))
        return err->code;
    return pk_text_check("prepare", e->o->prepare, err);
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    struct gate_options *o = app->options;
    struct gate g = {.app = app, .o = o, .began_ns = pk_clock_ns(), .samples = {.arena = app->arena}};
    o->verdict.alpha = pk_rule_default.alpha;
    o->verdict.min_effect = pk_rule_default.min_effect;
    if (pk_gate_open(&g, NULL, err) || check_options(&g.entries[0], err) || read_sides(&g.entries[0], err) ||
        pk_gate_check_options(&g.entries[0], err))
        return err->code;
    return pk_gate_measure(&g, outcome, err);
}

const struct pk_cmd pk_cmd_calibrate = {
    .name = "calibrate",
    .summary = "measure the noise floor: how much equal work differs here",
    .usage = "calibrate [EXPERIMENT] [options] | calibrate [options] -- COMMAND",
    .examples = "perfkit calibrate\n"
                "perfkit calibrate attention-scaling --variant flash -a seq_len=1024\n"
                "perfkit calibrate -- ./solve input\n",
    .options = options,
    .options_bytes = sizeof(struct gate_options),
    .exact_args = "0+",
    .axes = PK_AXES_OPTIONAL,
    .run = run,
};
