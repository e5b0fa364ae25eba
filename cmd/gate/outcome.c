/* Gate, outcome: the tables, the report files, and the exit status with its reason. */
#include "cmd/gate/gate.h"

#include "base/clock.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "cmd/compare/compare.h"
#include "judge/report/outcome.h"
#include "store/table/table.h"

#include <string.h>

/* --- the tables -------------------------------------------------------------------------------------------------------- */

static const struct pk_column gate_columns[] = {
    {.key = "answer", .heading = "Outcome", .left = true, .state = true},
    {.key = "rows", .heading = "Rows", .decimals = -1, .optional = 5},
    {.key = "slower", .heading = "Slower", .decimals = -1},
    {.key = "slower_in_some", .heading = "Slower in some", .decimals = -1},
    {.key = "faster", .heading = "Faster", .decimals = -1},
    {.key = "same", .heading = "Same", .decimals = -1},
    {.key = "undecided", .heading = "Undecided", .decimals = -1},
    {.key = "unstable", .heading = "Unstable", .decimals = -1},
    {.key = "unreplicated", .heading = "Unreplicated", .decimals = -1},
    {.key = "missing", .heading = "Missing", .decimals = -1, .machine = true},
    {.key = "pairs", .heading = "Pairs", .decimals = -1, .optional = 4},
    {.key = "elapsed_ns", .heading = "Took (s)", .scale = 1e9, .decimals = 1, .optional = 3},
    {.key = "warmup_pairs", .heading = "Warm-up pairs", .decimals = -1, .optional = 1},
    {.key = "seed", .heading = "Seed", .decimals = -1, .optional = 1},
};

static bool all_equal(const struct gate *g)
{
    size_t i = 0;
    while (i < g->n_entries && g->sides[i].equal)
        i++;
    return i == g->n_entries;
}

static const char *verdict_key(int v)
{
    return v == PK_SLOWER_IN_SOME ? "slower_in_some" : pk_verdict_name((enum pk_verdict)v);
}

static void print_outcome(const struct gate *g, struct pk_out *out)
{
    const size_t n = sizeof gate_columns / sizeof *gate_columns;
    const struct pk_verdicts v = pk_compare_count(&g->result.comparison);
    struct pk_column *columns = pk_columns_copy(g->app->arena, gate_columns, n);
    for (int i = PK_FASTER; i <= PK_UNSTABLE; i++) /* what no row has may be left out, and nothing else */
        pk_column_of(columns, n, verdict_key(i))->optional = v.of[i] ? 0 : 2;
    pk_out_table(out, "gate", "Gate", columns, n);
    struct pk_row *row = pk_row_begin(out);
    pk_put_nonempty(row, "answer", g->outcome);
    pk_put_int(row, "rows", (int64_t)v.rows);
    for (int i = PK_FASTER; i <= PK_UNSTABLE; i++)
        pk_put_int(row, verdict_key(i), (int64_t)v.of[i]);
    pk_put_int(row, "missing", (int64_t)pk_count_missing(&g->result.comparison));
    pk_put_int(row, "pairs", (int64_t)g->result.pairs);
    pk_put_int(row, "elapsed_ns", (int64_t)g->elapsed_ns);
    pk_put_int(row, "warmup_pairs", (int64_t)g->result.warmup_pairs);
    pk_put_int(row, "seed", (int64_t)g->order_seed);
    pk_row_end(row);
    pk_out_note(out, pk_printf(g->app->arena,
                               "Order of turns: --seed %llu repeats it. The first process of each side warms "
                               "up: it is recorded, and not judged.",
                               (unsigned long long)g->order_seed));
    if (g->result.comparison.n)
        pk_gate_note_noise(g, out);
}

/* "base: --a ../main/build"; of a suite "[flash] base: run 3, a = ../main/build". */
static const char *side_note(const struct gate *g, const struct gate_entry *e, int i)
{
    const char *word = i == PK_BASE ? "base" : "new";
    const struct pk_gate_side *s = &e->sides->side[i];
    if (!e->of->name)
        return pk_printf(g->app->arena, "%s: --%s %s", word, s->option, s->text);
    return pk_printf(g->app->arena, "[%s] %s: run %lld, %s = %s", e->of->name, word, (long long)s->run.run_id,
                     s->option, s->text);
}

static const char *compare_command(const struct gate *g)
{
    return g->o->run.no_save || g->list.name || !g->result.comparison.n
               ? NULL
               : pk_printf(g->app->arena, "perfkit compare %lld %lld",
                           (long long)g->sides[0].side[PK_BASE].run.run_id,
                           (long long)g->sides[0].side[PK_NEW].run.run_id);
}

static const char *stored_commands(const struct gate *g)
{
    const struct pk_gate_side *sides = g->sides[0].side;
    if (g->o->run.no_save)
        return NULL;
    return g->list.name
               ? "`perfkit list runs`"
               : pk_printf(g->app->arena, "`perfkit show %lld`, `perfkit show %lld`",
                           (long long)sides[PK_BASE].run.run_id, (long long)sides[PK_NEW].run.run_id);
}

struct pk_ended_gate pk_gate_as_ended(const struct gate *g)
{
    return (struct pk_ended_gate){.parts = g->parts,
                                  .samples = &g->samples,
                                  .result = &g->result,
                                  .again = compare_command(g),
                                  .stored = stored_commands(g),
                                  .arena = g->app->arena};
}

enum pk_code pk_gate_print_calibration(const struct gate_entry *e, struct pk_out *out, struct pk_err *err)
{
    const struct pk_run *base = &e->sides->side[PK_BASE].run;
    const struct pk_param params[] = {
        pk_param_int(":run", base->run_id),
        pk_param_text(":experiment", e->sides->probe ? e->sides->probe->name : "exec")};
    return pk_table_print(base->store, NULL, "calibration", PK_PARAMS(params), out, err);
}

static enum pk_code print_tables(void *user, struct pk_out *out, struct pk_err *err)
{
    struct gate *g = user;
    const struct pk_ended_gate ended = pk_gate_as_ended(g);
    size_t n;
    const struct pk_failure *failures = pk_gate_failures(&ended, &n);
    pk_out_again(out, compare_command(g));
    pk_out_reserve(out, PK_GATE_MESSAGE_LINES);
    if (!all_equal(g))
        pk_compare_summary(out, &g->result.comparison, g->app->arena);
    for (size_t i = 0; i < g->n_entries; i++)
        pk_run_states_noise(out, g->entries[i].states, PK_SIDES, g->app->arena);
    pk_out_detail(out, true);
    pk_compare_begin_runs(out);
    for (size_t i = 0; i < PK_SIDES * g->n_entries; i++)
        pk_compare_run_row(out, i % PK_SIDES ? "new" : "base", &g->entries[i / PK_SIDES].facts[i % PK_SIDES]);
    for (size_t i = 0; i < PK_SIDES * g->n_entries; i++)
        pk_out_note(out, side_note(g, &g->entries[i / PK_SIDES], i % PK_SIDES));
    pk_out_detail(out, false);
    for (size_t i = 0; i < g->n_entries; i++)
        if (g->sides[i].equal && pk_gate_print_calibration(&g->entries[i], out, err))
            return err->code;
    if (g->result.comparison.n && !all_equal(g))
        pk_compare_print(out, &g->result.comparison, NULL, g->app->arena);
    pk_compare_note_unmatched(out, &g->result.comparison, NULL, g->app->arena);
    pk_failures_print(failures, n, out);
    pk_out_detail(out, true);
    print_outcome(g, out);
    return PK_OK;
}

/* --- the exit status --------------------------------------------------------------------------------------------------- */

static enum pk_code outcome_of(const struct gate *g, struct pk_err *err)
{
    const struct pk_ended_gate ended = pk_gate_as_ended(g);
    const char *what = g->list.name ? pk_printf(g->app->arena, "suite %s", g->list.name)
                                    : pk_printf(g->app->arena, "b (%s)", g->sides[0].side[PK_NEW].text);
    const struct pk_outcome_options q = {.new_name = what,
                                         .fail_on_undecided = g->o->verdict.fail_on_undecided,
                                         .measured = true,
                                         .out_of_time = g->result.out_of_time,
                                         .again = compare_command(g)};
    if (pk_gate_ended(&ended, err))
        return err->code;
    return pk_outcome(&g->result.comparison, &q, g->app->arena, err);
}

/* --- all of it --------------------------------------------------------------------------------------------------------- */

static const char *closing_note(const struct gate *g)
{
    struct pk_arena *a = g->app->arena;
    const struct pk_verdicts v = pk_compare_count(&g->result.comparison);
    const char *again = compare_command(g);
    /* a gate whose rows are all left open is green, and looks like one that found nothing */
    const bool open = v.rows && v.of[PK_UNDECIDED] == v.rows && strcmp(g->outcome, "ok") == 0;
    char took[32];
    pk_format_ns((double)g->elapsed_ns, took, sizeof took);
    return pk_printf(a, "gate: %s; %s and %zu for warm-up in %s%s%s%s",
                     all_equal(g) ? "both sides are the same, nothing is judged"
                                  : pk_outcome_sentence(&g->result.comparison, a),
                     pk_plural(g->result.pairs, "pair", a), g->result.warmup_pairs, took,
                     open ? "; no row is decided: with --fail-on-undecided the exit status is 4" : "",
                     again               ? "; again: "
                     : g->o->run.no_save ? "; not recorded"
                                         : "",
                     again ? again : "");
}

enum pk_code pk_gate_outcome(struct gate *g, struct pk_err *err)
{
    struct pk_comparison *c = &g->result.comparison;
    struct pk_report_content content = {.comparison = c, .print = print_tables, .user = g};
    for (size_t i = 0; i < PK_SIDES * g->n_entries; i++) {
        struct gate_entry *e = &g->entries[i / PK_SIDES];
        const struct pk_run *r = &e->sides->side[i % PK_SIDES].run;
        struct pk_run_facts *facts = &e->facts[i % PK_SIDES];
        if (pk_store_run_facts(r->store, r->run_id, e->app->arena, facts, err) ||
            pk_store_cases_ok(r->store, r->run_id, &facts->cases_ok, err) ||
            pk_run_state_read(r->store, r->run_id, e->app->arena, &e->states[i % PK_SIDES], err))
            return err->code;
    }
    pk_compare_sort(c->v, c->n);
    g->elapsed_ns = pk_clock_ns() - g->began_ns;
    enum pk_code code = outcome_of(g, err);
    content.word = g->outcome = all_equal(g) && !code ? "equal" : pk_outcome_word(code);
    const struct pk_ended_gate ended = pk_gate_as_ended(g);
    content.failures = pk_gate_failures(&ended, &content.n_failures);
    content.measured = &g->entries[0].facts[PK_NEW];
    pk_verdict_hide(&g->o->verdict, c);
    if (print_tables(g, g->app->out, err))
        return err->code;
    g->app->closing_note = closing_note(g);
    return pk_gate_report(g, &content, code, err);
}

/* --- what --dry-run prints ---------------------------------------------------------------------------------------------- */

/* An experiment's case, or a command. */
static void plan_row(struct pk_out *out, const struct gate_entry *e, const char *experiment,
                     const char *variant, const char *axes)
{
    const struct pk_rule *rule = &e->sides->rule;
    struct pk_row *row = pk_row_begin(out);
    pk_put_nonempty(row, "entry", e->of->name);
    pk_put_nonempty(row, "experiment", experiment);
    pk_put_nonempty(row, "variant", variant);
    pk_put_nonempty(row, "axes", axes);
    pk_put_nonempty(row, "a", e->o->a);
    pk_put_nonempty(row, "b", e->o->b);
    pk_put_int(row, "pairs",
               (int64_t)(e->sides->equal     ? pk_rule_default.screen_pairs
                         : rule->until_clear ? rule->max_pairs
                                             : rule->screen_pairs));
    if (!e->sides->equal && !rule->until_clear)
        pk_put_int(row, "confirm_pairs", (int64_t)rule->confirm_pairs);
    pk_row_end(row);
}

void pk_gate_print_plan(const struct gate *g)
{
    const struct pk_column columns[] = {
        {.key = "entry", .heading = "Entry", .left = true, .machine = !g->list.name},
        {.key = "experiment", .heading = "Experiment", .left = true},
        {.key = "variant", .heading = "Variant", .left = true},
        {.key = "axes", .heading = "Case", .left = true, .json = true},
        {.key = "a", .heading = "Base", .left = true},
        {.key = "b", .heading = "New", .left = true},
        {.key = "pairs", .heading = g->o->until_clear ? "Pairs at most" : "Pairs", .decimals = -1},
        {.key = "confirm_pairs", .heading = "More if suspicious", .decimals = -1},
    };
    struct pk_out *out = g->app->out;
    pk_out_table(out, "gate_plan", "Both sides of each case would be measured", PK_COLUMNS(columns));
    for (size_t i = 0; i < g->n_entries; i++) {
        const struct gate_entry *e = &g->entries[i];
        if (!e->sides->probe)
            plan_row(out, e, "exec", e->o->name, NULL);
        for (size_t c = 0; e->sides->probe && c < g->samples.n_cases; c++)
            if (g->samples.cases[c].part == i) {
                const struct pk_case_info *info = &g->samples.cases[c].info;
                plan_row(out, e, info->experiment, info->variant, info->axes);
            }
    }
    pk_out_note(out, pk_printf(g->app->arena,
                               "Before them one pair for warm-up, which is not judged. Order of turns: %s.",
                               pk_opt_source_of(&g->app->tables[1], "seed") == PK_OPT_DEFAULT
                                   ? "a new seed, of the id of the base run"
                                   : pk_printf(g->app->arena, "--seed %lld", (long long)g->o->run.seed)));
    pk_gate_note_unknown(g, out);
}
