/* gate --against: judges a stored run, or the stored runs of every entry of a suite, against a baseline. */
#include "base/file.h"
#include "cmd/compare/compare.h"
#include "cmd/gate/gate.h"
#include "judge/report/outcome.h"

#include <string.h>

struct stored_gate {
    struct gate *gate;
    struct pk_stored_suite suite;
};

/* --- reading -------------------------------------------------------------------------------------------------------- */

/* A missing base cannot be compared with: for a gate that is no error in the options. */
static enum pk_code no_base(const char *against, struct pk_err *err)
{
    if (err->code != PK_E_USAGE && err->code != PK_E_NOTHING)
        return err->code;
    err->code = PK_E_NOT_COMPARABLE;
    const bool named = strncmp(err->what, against, strlen(against)) == 0;
    return named ? pk_within(err, "gate --against") : pk_within(err, "gate --against %s", against);
}

static enum pk_code read_entry(struct stored_gate *s, size_t i, const char *run, struct pk_err *err)
{
    const struct gate *g = s->gate;
    const struct gate_entry *e = &g->entries[i];
    const struct pk_run_source from = pk_run_source(e->app);
    const struct pk_entry_name of = {g->list.name, e->of->name};
    if (e->of->a) {
        pk_fail(err, PK_E_USAGE, "%s has its own sides, and --against measures nothing", e->of->place);
        pk_why(err, "its a and b are always measured now, in turns");
        return pk_fix(err, "omit --against, or put such entries in a separate file");
    }
    if (pk_stored_entry(&from, g->o->against, run, &of, &e->o->verdict, &s->suite.pairs[i], err))
        return no_base(g->o->against, err) ? pk_entry_within(e->of, err) : PK_OK;
    return PK_OK;
}

/* --- judging -------------------------------------------------------------------------------------------------------- */

/* Without a suite: two runs of one gate are judged by the criteria that it had. */
static enum pk_code judge_runs(struct stored_gate *s, const char *run, struct pk_err *err)
{
    const struct gate *g = s->gate;
    const struct pk_run_source from = pk_run_source(g->app);
    struct pk_stored_side base;
    if (pk_stored_base(&from, g->o->against, NULL, NULL, &base, err))
        return no_base(g->o->against, err);
    if (pk_stored_judge(g->app, g->o->against, run, &g->o->verdict, g->thresholds, s->suite.pairs, err))
        return err->code;
    pk_stored_suite_of_one(&s->suite);
    return PK_OK;
}

static enum pk_code judge_entries(struct stored_gate *s, struct pk_err *err)
{
    const struct gate *g = s->gate;
    const struct pk_verdict_options *o = &g->o->verdict;
    struct pk_compare_part *parts = pk_new_n(g->app->arena, struct pk_compare_part, g->n_entries);
    for (size_t i = 0; i < g->n_entries; i++) {
        parts[i] = (struct pk_compare_part){.name = g->sides[i].name, .criteria = g->sides[i].criteria};
    }
    const struct pk_compare_family family = {
        .v = parts, .n = g->n_entries, .rule = pk_verdict_rule(o), .level = 1 - o->alpha};
    if (pk_stored_suite_judge(&s->suite, &family, err))
        return pk_all_errors(&s->suite.wrong, err);
    pk_verdict_hide(o, &s->suite.all);
    return PK_OK;
}

/* --- the outcome ------------------------------------------------------------------------------------------------------ */

static enum pk_code print_tables(void *user, struct pk_out *out, struct pk_err *err)
{
    const struct stored_gate *s = user;
    const struct gate *g = s->gate;
    pk_out_reserve(out, PK_GATE_MESSAGE_LINES);
    if (!g->list.name) {
        pk_stored_print(s->suite.pairs, out, g->app->arena);
        return PK_OK;
    }
    for (size_t i = 0; i < g->n_entries; i++) {
        const char *alone = pk_stored_unmatched(&s->suite.pairs[i], g->app->arena);
        if (alone)
            pk_out_note(out, pk_printf(g->app->arena, "[%s] %s", g->entries[i].of->name, alone));
    }
    pk_compare_summary(out, &s->suite.all, g->app->arena);
    pk_out_detail(out, true);
    pk_compare_begin_runs(out);
    for (size_t i = 0; i < g->n_entries; i++)
        pk_stored_run_rows(&s->suite.pairs[i], out);
    for (size_t i = 0; i < g->n_entries; i++)
        pk_out_note(out, pk_printf(g->app->arena, "[%s] base: %s, new: %s", g->entries[i].of->name,
                                   s->suite.pairs[i].base.name, s->suite.pairs[i].new_.name));
    pk_out_detail(out, false);
    if (s->suite.pairs[0].base.instead)
        pk_out_note(out, s->suite.pairs[0].base.instead);
    for (size_t i = 0; i < g->n_entries; i++)
        pk_compare_print_differences(out, s->suite.pairs[i].differences, s->suite.pairs[i].n_differences,
                                     s->suite.pairs[i].refused, g->app->arena);
    pk_compare_print(out, &s->suite.all, NULL, g->app->arena);
    for (size_t i = 0; i < g->n_entries; i++)
        pk_compare_note_unmatched(out, &s->suite.pairs[i].comparison, NULL, g->app->arena);
    pk_failures_print(s->suite.all.unmatched, s->suite.all.n_unmatched, out);
    return PK_OK;
}

/* With the judged runs, where these are in the store of this user: another file is only read. That they cannot be written is no reason to
 * end without an outcome. */
static void record_verdicts(const struct stored_gate *s)
{
    const struct gate *g = s->gate;
    PK_STORE_CLEANUP struct pk_store *store = NULL;
    const struct pk_rule rule = pk_verdict_rule(&g->o->verdict);
    const char *own;
    for (size_t i = 0; i < g->n_entries && !g->o->run.no_save; i++) {
        struct pk_verdict_base base = {.name = g->o->against};
        struct pk_verdict_row *rows;
        struct pk_err err;
        const struct pk_stored_side *judged = &s->suite.pairs[i].new_;
        const size_t n = pk_stored_verdicts(&s->suite, i, &rule, &rows, &base);
        if (!n || pk_store_path(g->app->arena, g->app->globals->db, &own, &err) ||
            !pk_same_file(own, judged->file))
            continue;
        if ((!store && pk_open_store(g->app, own, PK_STORE_WRITE, &store, &err)) ||
            pk_store_baseline_verdicts(store, judged->facts[0].uuid, &base, rows, n, &err)) {
            pk_print_warning(g->app, "the verdicts are not recorded: %s: %s", err.what, err.why);
            return;
        }
    }
}

enum pk_code pk_gate_against(struct gate *g, struct pk_err *err)
{
    struct pk_arena *a = g->app->arena;
    struct stored_gate s = {.gate = g,
                            .suite = {.name = g->list.name,
                                      .pairs = pk_new_n(a, struct pk_stored_pair, g->n_entries),
                                      .arena = a}};
    const char *run = g->app->args.n ? g->app->args.v[0] : "@";
    for (size_t i = 0; i < g->n_entries && g->list.name; i++)
        if (read_entry(&s, i, run, err))
            return err->code;
    if (g->list.name ? judge_entries(&s, err) : judge_runs(&s, run, err))
        return err->code;
    const enum pk_code code = pk_stored_suite_outcome(&s.suite, &g->o->verdict, err);
    const struct pk_report_content content = {.comparison = &s.suite.all,
                                              .failures = s.suite.all.unmatched,
                                              .n_failures = s.suite.all.n_unmatched,
                                              .measured = &s.suite.pairs[0].new_.facts[0],
                                              .print = print_tables,
                                              .user = &s};
    if (print_tables(&s, g->app->out, err))
        return err->code;
    record_verdicts(&s);
    g->app->closing_note = pk_printf(a, "gate: %s", pk_outcome_sentence(&s.suite.all, a));
    return pk_gate_report(g, &content, code, err);
}
