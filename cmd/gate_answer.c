/* gate, its answer: the tables, the files for others, and the exit status with its reason. */
#include "cmd/gate.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/plural.h"
#include "base/units.h"
#include "cmd/compare_rows.h"
#include "judge/report/outcome.h"

#include <string.h>

/* --- what did not end ok --------------------------------------------------------------------------------------------- */

static struct pk_cell text(const char *s)
{
    return (struct pk_cell){.type = s && *s ? PK_CELL_TEXT : PK_CELL_NULL, .s = s};
}

static const struct gate_side *side_of(const struct gate *g, const struct pk_gate_case *c, int side)
{
    return &g->entries[c->part].side[side];
}

/* "[flash] " of a suite. */
static const char *entry_text(const struct gate *g, const struct pk_gate_case *c)
{
    return g->suite.n ? pk_printf(g->app->arena, "[%s] ", g->suite.v[c->part].name) : "";
}

static bool has_failed(const struct pk_gate_case *c, int side)
{
    return c->heard[side] && c->last[side] != PK_ST_OK;
}

/* In the order of the cases. */
static const struct pk_failure *failures_of(const struct gate *g, size_t *n)
{
    struct pk_failure *v = pk_new_n(g->app->arena, struct pk_failure, 2 * g->samples.n_cases + 1);
    *n = 0;
    for (size_t i = 0; i < g->samples.n_cases; i++)
        for (int s = 0; s < PK_SIDES; s++) {
            const struct pk_gate_case *c = &g->samples.cases[i];
            if (has_failed(c, s))
                v[(*n)++] = (struct pk_failure){.side = side_of(g, c, s)->option,
                                                .entry = g->suite.n ? g->suite.v[c->part].name : NULL,
                                                .experiment = c->info.experiment,
                                                .variant = c->info.variant,
                                                .axes = c->info.axes,
                                                .status = pk_status_name(c->last[s]),
                                                .message = c->message[s]};
        }
    return v;
}

/* --- the tables -------------------------------------------------------------------------------------------------------- */

static const struct pk_column gate_columns[] = {
    {.key = "answer", .heading = "Answer", .left = true},
    {.key = "rows", .heading = "Rows", .decimals = -1},
    {.key = "slower", .heading = "Slower", .decimals = -1},
    {.key = "faster", .heading = "Faster", .decimals = -1},
    {.key = "same", .heading = "Same", .decimals = -1},
    {.key = "undecided", .heading = "Undecided", .decimals = -1},
    {.key = "unstable", .heading = "Unstable", .decimals = -1},
    {.key = "unreplicated", .heading = "Unreplicated", .decimals = -1},
    {.key = "pairs", .heading = "Pairs", .decimals = -1},
    {.key = "elapsed_ns", .heading = "Took (s)", .scale = 1e9, .decimals = 1},
};

static struct pk_cell whole(size_t n)
{
    return (struct pk_cell){.type = PK_CELL_INT, .i = (int64_t)n};
}

static void print_answer(const struct gate *g, struct pk_out *out)
{
    const struct pk_verdicts v = pk_compare_count(&g->result.comparison);
    pk_out_table(out, "gate", "Gate", gate_columns, sizeof gate_columns / sizeof *gate_columns);
    pk_out_row(out, (struct pk_cell[]){
                        text(g->answer), whole(v.rows), whole(v.of[PK_SLOWER]), whole(v.of[PK_FASTER]),
                        whole(v.of[PK_SAME]), whole(v.of[PK_UNDECIDED]), whole(v.of[PK_UNSTABLE]),
                        whole(v.of[PK_UNREPLICATED]), whole(g->result.pairs), whole(g->elapsed_ns)});
    if (g->result.comparison.n)
        pk_gate_note_noise(g, out);
}

/* "base: --a ../main/build"; of a suite "[flash] base: run 3, a = ../main/build". */
static const char *side_note(const struct gate *g, const struct gate_entry *e, int i)
{
    const char *word = i == PK_BASE ? "base" : "new";
    const struct gate_side *s = &e->side[i];
    if (!e->in_suite)
        return pk_printf(g->app->arena, "%s: --%s %s", word, s->option, s->text);
    return pk_printf(g->app->arena, "[%s] %s: run %lld, %s = %s", e->in_suite->name, word,
                     (long long)s->run.run_id, s->option, s->text);
}

static void print_runs(const struct gate *g, struct pk_out *out)
{
    pk_compare_begin_runs(out);
    for (size_t i = 0; i < g->n_entries; i++) {
        pk_compare_run_row(out, "base", &g->entries[i].facts[PK_BASE]);
        pk_compare_run_row(out, "new", &g->entries[i].facts[PK_NEW]);
    }
    for (size_t k = 0; k < g->n_entries; k++)
        for (int i = 0; i < PK_SIDES; i++)
            pk_out_note(out, side_note(g, &g->entries[k], i));
}

/* What one side alone reports is compared with nothing, and no other metric should be taken for it. Of experiments other metrics than times
 * come and go with settings. */
static void note_one_sided(const struct gate *g, struct pk_out *out)
{
    enum { MOST = 4 };
    size_t told = 0;
    for (size_t i = 0; i < g->samples.n_rows && told < MOST && !g->result.interrupted; i++) {
        const struct pk_gate_row *r = &g->samples.rows[i];
        const struct pk_gate_case *c = &g->samples.cases[r->c];
        const bool base = r->f[PK_BASE].n, new_ = r->f[PK_NEW].n;
        if (r->conflict) {
            pk_out_note(
                out, pk_printf(g->app->arena, "%s%s, so it is not compared.", entry_text(g, c), r->conflict));
            told++;
            continue;
        }
        if (base == new_ || c->closed || (g->entries[c->part].probe && strcmp(r->f->class, "time") != 0))
            continue;
        pk_out_note(out,
                    pk_printf(g->app->arena, "%s%s of %s is reported by --%s alone, so it is not compared.",
                              entry_text(g, c), r->f->metric, c->info.variant,
                              side_of(g, c, base ? PK_BASE : PK_NEW)->option));
        told++;
    }
}

static enum pk_code print_tables(void *user, struct pk_out *out, struct pk_err *err)
{
    struct gate *g = user;
    size_t n;
    const struct pk_failure *failures = failures_of(g, &n);
    print_runs(g, out);
    for (size_t i = 0; i < g->n_entries; i++)
        if (g->entries[i].equal && pk_gate_print_calibration(&g->entries[i], out, err))
            return err->code;
    if (g->result.comparison.n && !pk_gate_all_equal(g))
        pk_compare_print(out, &g->result.comparison, NULL, g->app->arena);
    note_one_sided(g, out);
    pk_failures_print(failures, n, out);
    print_answer(g, out);
    return PK_OK;
}

/* --- the exit status --------------------------------------------------------------------------------------------------- */

static const char *again(const struct gate *g)
{
    return g->o->run.no_save || g->suite.n || !g->result.comparison.n
               ? NULL
               : pk_printf(g->app->arena, "perfkit compare %lld %lld",
                           (long long)g->entries[0].side[PK_BASE].run.run_id,
                           (long long)g->entries[0].side[PK_NEW].run.run_id);
}

static enum pk_code interrupted(const struct gate *g, struct pk_err *err)
{
    pk_fail(err, PK_E_INTERRUPTED, "interrupted after %s", pk_plural(g->result.pairs, "pair", g->app->arena));
    pk_why(err, "a signal asked perfkit to stop");
    return again(g) ? pk_fix(err, "`%s` compares what was measured", again(g))
                    : pk_fix(err, "run it again; without --no-save what was measured is kept");
}

/* The first case of a side that failed for good: a crash, a wrong result, no end. That a case does not fit the memory of the base is
 * no fault of what is judged. */
static const struct pk_gate_case *failure(const struct gate *g, int *side)
{
    for (size_t i = 0; i < g->samples.n_cases; i++)
        for (*side = 0; *side < PK_SIDES; ++*side) {
            const struct pk_gate_case *c = &g->samples.cases[i];
            bool alone = c->heard[PK_BASE] && c->last[PK_BASE] == PK_ST_OK;
            if (has_failed(c, *side) && (c->last[*side] == PK_ST_FAILED || c->last[*side] == PK_ST_TIMEOUT ||
                                         (*side == PK_NEW && alone)))
                return c;
        }
    return NULL;
}

static enum pk_code failed(const struct gate *g, const struct pk_gate_case *c, int side, struct pk_err *err)
{
    const struct gate_side *s = side_of(g, c, side);
    pk_fail(err, PK_E_CHECK, "%s%s (--%s %s) ended '%s' in %s", entry_text(g, c),
            side == PK_BASE ? "the base" : "what is judged", s->option, s->text,
            pk_status_name(c->last[side]),
            g->entries[c->part].probe ? pk_report_case(c->info.variant, c->info.axes, g->app->arena)
                                      : c->info.variant);
    pk_why(err, "%s", c->message[side]);
    if (c->last[side] == PK_ST_TIMEOUT)
        return pk_fix(err, "give each process more time with --timeout");
    return pk_fix(err,
                  g->entries[c->part].probe || strstr(c->message[side], "last words: ")
                      ? "run that side alone and see"
                      : "run that side alone and see: it said nothing on stderr, and its stdout is not kept");
}

static enum pk_code nothing(const struct gate *g, struct pk_err *err)
{
    pk_fail(err, PK_E_NOTHING, "nothing was compared");
    if (g->samples.n_cases && g->samples.cases[0].closed)
        pk_why(err, "of %s none ended ok on both sides: %s",
               pk_plural(g->samples.n_cases, "case", g->app->arena),
               *g->samples.cases[0].message[PK_NEW] ? g->samples.cases[0].message[PK_NEW]
                                                    : g->samples.cases[0].message[PK_BASE]);
    else
        pk_why(err, "no metric that can be judged was measured on both sides");
    return pk_fix(err, g->entries[0].probe
                           ? "choose other cases with -a, or metrics with --metric"
                           : "let both commands report the same cases, or choose --metric wall_ns");
}

enum pk_code pk_gate_ended(const struct gate *g, struct pk_err *err)
{
    int side;
    const struct pk_gate_case *broken = failure(g, &side);
    if (g->result.interrupted)
        return interrupted(g, err);
    if (broken)
        return failed(g, broken, side, err);
    return g->result.comparison.n ? PK_OK : nothing(g, err);
}

static enum pk_code answer(const struct gate *g, struct pk_err *err)
{
    const char *what = g->suite.n ? pk_printf(g->app->arena, "suite %s", g->suite.name)
                                  : pk_printf(g->app->arena, "b (%s)", g->entries[0].side[PK_NEW].text);
    const struct pk_outcome_options q = {.new_name = what,
                                         .fail_on_undecided = g->o->verdict.fail_on_undecided,
                                         .measured = true,
                                         .again = again(g)};
    if (pk_gate_ended(g, err))
        return err->code;
    return pk_outcome(&g->result.comparison, &q, g->app->arena, err);
}

/* --- all of it --------------------------------------------------------------------------------------------------------- */

/* A gate whose rows are all left open is green, and looks like one that found nothing. */
static const char *open_note(const struct gate *g)
{
    const struct pk_verdicts v = pk_compare_count(&g->result.comparison);
    return v.rows && v.of[PK_UNDECIDED] == v.rows && strcmp(g->answer, "ok") == 0
               ? "; nothing is decided: --fail-on-undecided makes that exit status 4"
               : "";
}

static const char *parting(const struct gate *g)
{
    struct pk_arena *a = g->app->arena;
    char took[32];
    pk_format_ns((double)g->elapsed_ns, took, sizeof took);
    return pk_printf(a, "gate: %s; %s in %s%s%s%s",
                     pk_gate_all_equal(g) ? "both sides are the same, nothing is judged"
                                          : pk_outcome_sentence(&g->result.comparison, a),
                     pk_plural(g->result.pairs, "pair", a), took, open_note(g),
                     again(g)            ? "; again: "
                     : g->o->run.no_save ? "; not recorded"
                                         : "",
                     again(g) ? again(g) : "");
}

static enum pk_code read_facts(struct gate_entry *e, struct pk_err *err)
{
    for (int i = 0; i < PK_SIDES; i++) {
        const struct run *r = &e->side[i].run;
        if (pk_store_run_facts(r->store, r->run_id, e->app->arena, &e->facts[i], err) ||
            pk_store_cases_ok(r->store, r->run_id, &e->facts[i].cases_ok, err))
            return err->code;
    }
    return PK_OK;
}

enum pk_code pk_gate_answer(struct gate *g, struct pk_err *err)
{
    struct pk_comparison *c = &g->result.comparison;
    struct pk_gate_said said = {.comparison = c, .print = print_tables, .user = g};
    for (size_t i = 0; i < g->n_entries; i++)
        if (read_facts(&g->entries[i], err))
            return err->code;
    pk_compare_sort(c->v, c->n);
    g->elapsed_ns = pk_clock_ns() - g->began_ns;
    enum pk_code code = answer(g, err);
    said.word = g->answer = pk_gate_all_equal(g) && !code ? "equal" : pk_outcome_word(code);
    said.failures = failures_of(g, &said.n_failures);
    said.measured = &g->entries[0].facts[PK_NEW];
    pk_verdict_hide(&g->o->verdict, c);
    if (print_tables(g, g->app->out, err))
        return err->code;
    g->app->parting = parting(g);
    return pk_gate_report(g, &said, code, err);
}
