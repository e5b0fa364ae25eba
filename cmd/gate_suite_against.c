/* gate --suite --against: the stored runs of every entry, judged by others as one family. */
#include "cmd/compare_rows.h"
#include "cmd/gate.h"
#include "judge/report/outcome.h"

#include "judge/criteria/criteria.h"

struct against {
    struct gate *gate;
    struct pk_stored_pair *pairs; /* of each entry */
    struct pk_comparison all;
    struct pk_failure *failures;
    size_t n_failures;
    const struct pk_stored_pair *refused; /* the first; NULL = none */
    const char *refused_name;
};

/* --- reading -------------------------------------------------------------------------------------------------------- */

static enum pk_code refuse_own_sides(const struct pk_suite_entry *e, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "%s: [%s] has sides of its own, and --against measures none", e->place, e->name);
    pk_why(err, "its a and b are measured in turns, whatever is stored");
    return pk_fix(err, "leave out --against, or keep such entries in a file of their own");
}

static enum pk_code read_entry(struct against *s, size_t i, struct pk_err *err)
{
    const struct gate *g = s->gate;
    const struct gate_entry *e = &g->entries[i];
    const struct pk_run_source from = pk_run_source(e->app);
    const struct pk_entry_name of = {g->suite.name, e->in_suite->name};
    const char *run = g->app->args.n ? g->app->args.v[0] : "@";
    if (e->in_suite->a)
        return refuse_own_sides(e->in_suite, err);
    if (pk_stored_entry(&from, g->o->against, run, &of, &e->o->verdict, &s->pairs[i], err))
        return pk_gate_missing(g->o->against, err) ? pk_suite_within(e->in_suite, err) : PK_OK;
    if (s->pairs[i].refused && !s->refused) {
        s->refused = &s->pairs[i];
        s->refused_name = e->in_suite->name;
    }
    return PK_OK;
}

/* --- judging ---------------------------------------------------------------------------------------------------------- */

static enum pk_code judge(struct against *s, struct pk_err *err)
{
    const struct gate *g = s->gate;
    struct pk_arena *a = g->app->arena;
    const struct pk_verdict_options *o = &g->o->verdict;
    struct pk_compare_part *parts = pk_new_n(a, struct pk_compare_part, g->n_entries);
    for (size_t i = 0; i < g->n_entries; i++) {
        const struct gate_entry *e = &g->entries[i];
        parts[i] = (struct pk_compare_part){
            .name = e->in_suite->name,
            .of = &s->pairs[i].comparison,
            .thresholds = e->thresholds,
            .n_thresholds = e->n_thresholds,
            .min_effect = pk_suite_gives(e->in_suite, "min-effect") ? e->o->verdict.min_effect : 0,
            .refused = s->pairs[i].refused,
        };
    }
    const struct pk_compare_family family = {.v = parts,
                                             .n = g->n_entries,
                                             .thresholds = g->thresholds,
                                             .n_thresholds = o->thresholds.n,
                                             .typed = pk_gate_typed(g),
                                             .rule = pk_verdict_rule(o),
                                             .level = 1 - o->alpha};
    struct pk_errs wrong = {.arena = a};
    if (pk_compare_judge_family(&family, a, &s->all, &wrong, err))
        return pk_all_errors(&wrong, err);
    pk_verdict_hide(o, &s->all);
    return PK_OK;
}

static void collect_troubles(struct against *s)
{
    struct pk_arena *a = s->gate->app->arena;
    size_t most = 1;
    for (size_t i = 0; i < s->gate->n_entries; i++)
        most += s->pairs[i].comparison.n_unmatched;
    s->failures = pk_new_n(a, struct pk_failure, most);
    for (size_t i = 0; i < s->gate->n_entries; i++) {
        const struct pk_failure *of_entry =
            pk_stored_failures(&s->pairs[i], s->gate->entries[i].in_suite->name, a);
        for (size_t k = 0; k < s->pairs[i].comparison.n_unmatched; k++)
            s->failures[s->n_failures++] = of_entry[k];
    }
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
        print_runs(&s->pairs[i], out);
    for (size_t i = 0; i < g->n_entries; i++)
        pk_out_note(out, pk_printf(g->app->arena, "[%s] base: %s, new: %s", g->entries[i].in_suite->name,
                                   s->pairs[i].base.name, s->pairs[i].new_.name));
    if (s->pairs[0].base.instead)
        pk_out_note(out, s->pairs[0].base.instead);
    for (size_t i = 0; i < g->n_entries; i++)
        pk_compare_print_differences(out, s->pairs[i].differences, s->pairs[i].n_differences,
                                     s->pairs[i].refused, g->app->arena);
    pk_compare_print(out, &s->all, NULL, g->app->arena);
    pk_failures_print(s->failures, s->n_failures, out);
    return PK_OK;
}

typedef enum pk_code lost_fn(const struct pk_stored_pair *p, struct pk_arena *a, struct pk_err *err);

/* Of the first entry that lost something. */
static enum pk_code lost(const struct against *s, lost_fn *of_pair, struct pk_err *err)
{
    const struct gate *g = s->gate;
    for (size_t i = 0; i < g->n_entries; i++)
        if (of_pair(&s->pairs[i], g->app->arena, err))
            return pk_within(err, "[%s]", g->entries[i].in_suite->name);
    return PK_OK;
}

/* A regression counts, whatever else could not be judged. */
static enum pk_code answer(const struct against *s, struct pk_err *err)
{
    const struct gate *g = s->gate;
    const struct pk_outcome_options q = {.new_name = pk_printf(g->app->arena, "suite %s", g->suite.name),
                                         .fail_on_undecided = g->o->verdict.fail_on_undecided};
    if (lost(s, pk_stored_failed, err) ||
        (!pk_compare_count(&s->all).of[PK_SLOWER] && lost(s, pk_stored_lost, err)))
        return err->code;
    if (!s->refused || pk_compare_count(&s->all).of[PK_SLOWER])
        return pk_outcome(&s->all, &q, g->app->arena, err);
    return pk_stored_answer(s->refused, &g->o->verdict, g->app->arena, err)
               ? pk_within(err, "[%s]", s->refused_name)
               : PK_OK;
}

enum pk_code pk_gate_suite_against(struct gate *g, struct pk_err *err)
{
    struct pk_arena *a = g->app->arena;
    struct against s = {.gate = g, .pairs = pk_new_n(a, struct pk_stored_pair, g->n_entries)};
    for (size_t i = 0; i < g->n_entries; i++)
        if (read_entry(&s, i, err))
            return err->code;
    if (judge(&s, err))
        return err->code;
    collect_troubles(&s);
    const enum pk_code code = answer(&s, err);
    const struct pk_gate_said said = {.comparison = &s.all,
                                      .failures = s.failures,
                                      .n_failures = s.n_failures,
                                      .measured = &s.pairs[0].new_.facts[0],
                                      .print = print_tables,
                                      .user = &s};
    if (print_tables(&s, g->app->out, err))
        return err->code;
    g->app->parting = pk_printf(a, "gate: %s", pk_outcome_sentence(&s.all, a));
    return pk_gate_report(g, &said, code, err);
}
