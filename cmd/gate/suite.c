/* gate --suite: one gate entry per entry of the file, with its two sides. */
#include "cmd/gate/gate.h"

#include <string.h>
#include <unistd.h>

/* "dtype=bf16": a setting of an experiment, where a command has none. */
static enum pk_code refuse_setting(const struct pk_suite_entry *s, const char *option, const char *side,
                                   struct pk_err *err)
{
    if (!side || !strchr(side, '=') || access(side, F_OK) == 0)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "%s: [%s] is a command, and --%s %s is a setting", s->place, s->name, option,
            side);
    pk_why(err, "settings are of experiments");
    return pk_fix(err,
                  "give two folders for {side} in its command, or the entry an `a` and a `b` of its own");
}

static enum pk_code refuse_equal(const struct pk_suite_entry *s, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "%s: [%s] is the same command on both sides", s->place, s->name);
    pk_why(err, "nothing in '%.200s' stands for a side", s->command);
    return pk_fix(err, "write {side} where that of --a or --b is to stand: command = {side}/solve");
}

/* The line of each side of a command: those of a and b, or one line with a side put into it. */
static enum pk_code read_command(const struct pk_suite_entry *s, struct gate_options *o, struct pk_err *err)
{
    const char *a = o->a, *b = o->b;
    if (!o->name)
        o->name = s->name;
    if (!s->command)
        return PK_OK;
    if (!strstr(s->command, "{side}"))
        return refuse_equal(s, err);
    if (refuse_setting(s, "a", a, err) || refuse_setting(s, "b", b, err) || !a || !b)
        return a && b ? err->code : PK_OK; /* what is missing is said with the others' */
    return pk_suite_command(s, a, &o->a, err) || pk_suite_command(s, b, &o->b, err) ? err->code : PK_OK;
}

static enum pk_code make_entry(const struct gate *g, const struct pk_suite_entry *s, struct gate_entry *e,
                               struct pk_err *err)
{
    struct gate_options *o = s->app->options;
    *e = (struct gate_entry){.in_suite = s, .app = s->app, .o = o, .probe = s->probe};
    o->a = s->a ? s->a : g->o->a ? g->o->a : g->suite.a;
    o->b = s->b ? s->b : g->o->b ? g->o->b : g->suite.b;
    e->n_thresholds = pk_suite_gives(s, "threshold") ? o->verdict.thresholds.n : 0;
    if (pk_verdict_options_check(s->app, &o->verdict, &e->thresholds, err))
        return pk_suite_within(s, err);
    pk_gate_place(&g->suite, &s->section, e->thresholds, e->n_thresholds, s->app->arena);
    return s->probe || g->o->against ? PK_OK : read_command(s, o, err);
}

enum pk_code pk_gate_suite(struct gate *g, struct pk_err *err)
{
    if (pk_suite_open(g->app, g->o->run.suite, "gate", "gate", &g->suite, err))
        return err->code;
    g->n_entries = g->suite.n;
    g->entries = pk_new_n(g->app->arena, struct gate_entry, g->n_entries);
    for (size_t i = 0; i < g->n_entries; i++)
        if (make_entry(g, &g->suite.v[i], &g->entries[i], err))
            return err->code;
    return PK_OK;
}

bool pk_gate_typed(const struct gate *g)
{
    return g->o->verdict.thresholds.n && /* calibrate has no such option */
           pk_opt_source_of(&g->app->tables[1], "threshold") > PK_OPT_SUITE_ENTRY;
}

struct pk_criteria pk_gate_criteria(const struct gate *g, const struct gate_entry *e)
{
    const bool own_effect = e->in_suite && pk_suite_gives(e->in_suite, "min-effect");
    return (struct pk_criteria){.own = e->thresholds,
                                .n_own = e->n_thresholds,
                                .min_effect = own_effect ? e->o->verdict.min_effect : 0,
                                .all = g->thresholds,
                                .n_all = g->o->verdict.thresholds.n,
                                .typed = pk_gate_typed(g)};
}

enum pk_code pk_gate_within(const struct gate_entry *e, struct pk_err *err)
{
    return e->in_suite ? pk_suite_within(e->in_suite, err) : err->code;
}

/* --- the plan ------------------------------------------------------------------------------------------------------- */

/* An experiment's case, or a command. */
static void plan_row(struct pk_out *out, const struct gate_entry *e, const char *experiment,
                     const char *variant, const char *axes)
{
    struct pk_row *row = pk_row_begin(out);
    pk_put_nonempty(row, "entry", e->in_suite ? e->in_suite->name : NULL);
    pk_put_nonempty(row, "experiment", experiment);
    pk_put_nonempty(row, "variant", variant);
    pk_put_nonempty(row, "axes", axes);
    pk_put_nonempty(row, "a", e->o->a);
    pk_put_nonempty(row, "b", e->o->b);
    pk_row_end(row);
}

void pk_gate_print_plan(const struct gate *g)
{
    const struct pk_column columns[] = {
        {.key = "entry", .heading = "Entry", .left = true, .machine = !g->suite.n},
        {.key = "experiment", .heading = "Experiment", .left = true},
        {.key = "variant", .heading = "Variant", .left = true},
        {.key = "axes", .heading = "Case", .left = true, .json = true},
        {.key = "a", .heading = "Base", .left = true},
        {.key = "b", .heading = "New", .left = true},
    };
    struct pk_out *out = g->app->out;
    pk_out_table(out, "gate_plan", "Both sides of each would be measured", PK_COLUMNS(columns));
    for (size_t i = 0; i < g->n_entries; i++) {
        const struct gate_entry *e = &g->entries[i];
        if (!e->probe)
            plan_row(out, e, "exec", e->o->name, NULL);
        for (size_t c = 0; e->probe && c < g->samples.n_cases; c++)
            if (g->samples.cases[c].part == i) {
                const struct pk_case_info *info = &g->samples.cases[c].info;
                plan_row(out, e, info->experiment, info->variant, info->axes);
            }
    }
    pk_gate_note_unknown(g, out);
}
