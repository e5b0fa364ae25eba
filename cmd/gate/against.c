/* gate --against: judges a stored run, or the stored runs of every entry of a suite, against a baseline. */
#include "cmd/compare/compare.h"
#include "cmd/gate/gate.h"
#include "judge/report/outcome.h"

#include <string.h>

/* --- one run ------------------------------------------------------------------------------------------------------- */

struct against_run {
    struct pk_app *app;
    struct pk_stored_pair pair;
};

static enum pk_code print_pair(void *user, struct pk_out *out, struct pk_err *err)
{
    const struct against_run *g = user;
    pk_stored_print(&g->pair, out, g->app->arena);
    return PK_OK;
}

enum pk_code pk_gate_missing(const char *against, struct pk_err *err)
{
    if (err->code != PK_E_USAGE && err->code != PK_E_NOTHING)
        return err->code;
    err->code = PK_E_NOT_COMPARABLE;
    const bool named = strncmp(err->what, against, strlen(against)) == 0;
    return named ? pk_within(err, "gate --against") : pk_within(err, "gate --against %s", against);
}

static enum pk_code compare(struct gate *g, const char *run, struct pk_stored_pair *pair, struct pk_err *err)
{
    const struct pk_run_source from = pk_run_source(g->app);
    struct pk_stored_side base;
    if (pk_stored_base(&from, g->o->against, NULL, NULL, &base, err))
        return pk_gate_missing(g->o->against, err);
    return pk_stored_judge(g->app, g->o->against, run, &g->o->verdict, g->thresholds, pair, err);
}

enum pk_code pk_gate_against(struct gate *g, struct pk_err *err)
{
    struct pk_app *app = g->app;
    struct against_run s = {.app = app};
    if (compare(g, app->args.n ? app->args.v[0] : "@", &s.pair, err))
        return err->code;
    const enum pk_code code = pk_stored_outcome(&s.pair, &g->o->verdict, app->arena, err);
    const struct pk_gate_said said = {.comparison = &s.pair.comparison,
                                      .failures = pk_stored_failures(&s.pair, NULL, app->arena),
                                      .n_failures = s.pair.comparison.n_unmatched,
                                      .measured = &s.pair.new_.facts[0],
                                      .print = print_pair,
                                      .user = &s};
    if (print_pair(&s, app->out, err))
        return err->code;
    app->closing_note =
        pk_printf(app->arena, "gate: %s", pk_outcome_sentence(&s.pair.comparison, app->arena));
    return pk_gate_report(g, &said, code, err);
}

/* --- a suite ------------------------------------------------------------------------------------------------------- */

struct against {
    struct gate *gate;
    struct pk_stored_suite suite;
    const struct pk_failure *failures;
    size_t n_failures;
};

/* --- reading -------------------------------------------------------------------------------------------------------- */

static enum pk_code refuse_own_sides(const struct pk_entry *e, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "%s has its own sides, and --against measures nothing", e->place);
    pk_why(err, "its a and b are always measured now, in turns");
    return pk_fix(err, "omit --against, or put such entries in a separate file");
}

static enum pk_code read_entry(struct against *s, size_t i, struct pk_err *err)
{
    const struct gate *g = s->gate;
    const struct gate_entry *e = &g->entries[i];
    const struct pk_run_source from = pk_run_source(e->app);
    const struct pk_entry_name of = {g->list.name, e->of->name};
    const char *run = g->app->args.n ? g->app->args.v[0] : "@";
    if (e->of->a)
        return refuse_own_sides(e->of, err);
    if (pk_stored_entry(&from, g->o->against, run, &of, &e->o->verdict, &s->suite.pairs[i], err))
        return pk_gate_missing(g->o->against, err) ? pk_entry_within(e->of, err) : PK_OK;
    return PK_OK;
}

static enum pk_code judge(struct against *s, struct pk_err *err)
{
    const struct gate *g = s->gate;
    const struct pk_verdict_options *o = &g->o->verdict;
    struct pk_compare_part *parts = pk_new_n(g->app->arena, struct pk_compare_part, g->n_entries);
    for (size_t i = 0; i < g->n_entries; i++) {
        const struct gate_entry *e = &g->entries[i];
        parts[i] = (struct pk_compare_part){
            .name = e->of->name,
            .criteria = pk_gate_criteria(g, e),
        };
    }
    const struct pk_compare_family family = {
        .v = parts, .n = g->n_entries, .rule = pk_verdict_rule(o), .level = 1 - o->alpha};
    if (pk_stored_suite_judge(&s->suite, &family, err))
        return pk_all_errors(&s->suite.wrong, err);
    pk_verdict_hide(o, &s->suite.all);
    return PK_OK;
}

/* --- answering -------------------------------------------------------------------------------------------------------- */

static void print_runs(const struct pk_stored_pair *p, struct pk_out *out)
{
    for (size_t k = 0; k < p->base.n_runs; k++)
        pk_compare_run_row(out, "base", &p->base.facts[k]);
    for (size_t k = 0; k < p->new_.n_runs; k++)
        pk_compare_run_row(out, "new", &p->new_.facts[k]);
}

static enum pk_code print_tables(void *user, struct pk_out *out, struct pk_err *err)
{
    const struct against *s = user;
    const struct gate *g = s->gate;
    pk_compare_begin_runs(out);
    for (size_t i = 0; i < g->n_entries; i++)
        print_runs(&s->suite.pairs[i], out);
    for (size_t i = 0; i < g->n_entries; i++)
        pk_out_note(out, pk_printf(g->app->arena, "[%s] base: %s, new: %s", g->entries[i].of->name,
                                   s->suite.pairs[i].base.name, s->suite.pairs[i].new_.name));
    if (s->suite.pairs[0].base.instead)
        pk_out_note(out, s->suite.pairs[0].base.instead);
    for (size_t i = 0; i < g->n_entries; i++)
        pk_compare_print_differences(out, s->suite.pairs[i].differences, s->suite.pairs[i].n_differences,
                                     s->suite.pairs[i].refused, g->app->arena);
    pk_compare_print(out, &s->suite.all, NULL, g->app->arena);
    pk_failures_print(s->failures, s->n_failures, out);
    return PK_OK;
}

enum pk_code pk_gate_suite_against(struct gate *g, struct pk_err *err)
{
    struct pk_arena *a = g->app->arena;
    struct against s = {.gate = g,
                        .suite = {.name = g->list.name,
                                  .pairs = pk_new_n(a, struct pk_stored_pair, g->n_entries),
                                  .arena = a}};
    for (size_t i = 0; i < g->n_entries; i++)
        if (read_entry(&s, i, err))
            return err->code;
    if (judge(&s, err))
        return err->code;
    s.failures = pk_stored_suite_failures(&s.suite, &s.n_failures);
    const enum pk_code code = pk_stored_suite_outcome(&s.suite, &g->o->verdict, err);
    const struct pk_gate_said said = {.comparison = &s.suite.all,
                                      .failures = s.failures,
                                      .n_failures = s.n_failures,
                                      .measured = &s.suite.pairs[0].new_.facts[0],
                                      .print = print_tables,
                                      .user = &s};
    if (print_tables(&s, g->app->out, err))
        return err->code;
    g->app->closing_note = pk_printf(a, "gate: %s", pk_outcome_sentence(&s.suite.all, a));
    return pk_gate_report(g, &said, code, err);
}
