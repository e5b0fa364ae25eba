/* Gate, noise: what earlier calibrations say about the cases, and what equal sides add to it. */
#include "cmd/gate/gate.h"

#include "base/text/buf.h"
#include "base/text/words.h"
#include "bench/plan/declared_work.h"
#include "store/table/table.h"

#include <math.h>
#include <string.h>

/* --- what is known ------------------------------------------------------------------------------------------------------ */

enum pk_code pk_gate_read_noise(struct gate *g, struct gate_entry *e, struct pk_err *err)
{
    struct pk_arena *a = e->app->arena;
    const struct pk_rule rule = pk_gate_rule(e->o);
    const bool given = pk_opt_source_of(&e->app->tables[1], "min-effect") != PK_OPT_DEFAULT;
    /* without a record: of the store that would be written to */
    PK_STORE_CLEANUP struct pk_store *own = NULL;
    struct pk_calibration *all = NULL;
    struct pk_run_info info = {0};
    struct pk_err ignored;
    size_t n;
    /* That there is none, or that it cannot be read, is no reason not to measure. */
    if ((e->o->run.no_save && pk_open_store(e->app, NULL, PK_STORE_READ, &own, &ignored)) ||
        pk_store_calibrations(own ? own : e->side[PK_BASE].run.store, e->probe ? e->probe->name : "exec", a,
                              &all, &n, &ignored) ||
        !n)
        return PK_OK;
    if (pk_run_info_fill(&info, g->app->argc, g->app->argv, a, err))
        return err->code;
    struct pk_noise_of of = {.metrics = &e->o->verdict.metrics, .machine = info.machine};
    for (int i = 0; i < PK_SIDES; i++) {
        PK_JSON_CLEANUP json_t *words = e->probe ? NULL : pk_gate_command_words(&e->side[i]);
        of.plans[i] = e->probe ? &e->side[i].run.plan : NULL;
        of.words[i] = words ? pk_json_text(a, words, PK_JSON_CANON) : NULL;
    }
    if (e->probe)
        of.cases = &g->samples.cases[e->side[PK_BASE].experiment.first];
    /* Of a command, what pk_gate_begin will record that matters here. */
    of.settings =
        e->probe ? pk_run_settings(&e->side[PK_NEW].run) : pk_printf(a, "{\"warmup\": %d}", PK_GATE_WARMUP);
    e->n_row_noise = pk_row_noise_find(all, n, &of, a, &e->row_noise);
    const struct pk_criteria of_rows = pk_gate_criteria(g, e);
    return pk_noise_check(e->row_noise, e->n_row_noise, &of_rows, &rule, given, err);
}

/* --- what is found ------------------------------------------------------------------------------------------------------ */

enum pk_code pk_gate_calibrate(struct gate *g, size_t part, struct pk_err *err)
{
    struct gate_entry *e = &g->entries[part];
    const struct pk_rule rule = pk_gate_rule(e->o);
    const struct pk_run *base = &e->side[PK_BASE].run;
    struct pk_comparison *c = &g->result.comparison, of_part = *c;
    struct pk_calibration_row *v;
    of_part.v = pk_new_n(g->app->arena, struct pk_compared, c->n + 1);
    of_part.n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (g->samples.cases[c->v[i].base->ordinal].part == part) {
            of_part.v[of_part.n++] = c->v[i];
            c->v[i].judged = false;
        }
    if (g->result.interrupted)
        return PK_OK;
    e->n_calibration_rows = pk_calibration_rows(&of_part, &rule, g->app->arena, &v);
    for (size_t i = 0; i < e->n_calibration_rows && e->probe;
         i++) { /* a gate's cases lack what a side sets */
        const size_t first = e->side[PK_BASE].experiment.first;
        const struct pk_case_info x =
            pk_planned_case_info(&base->plan, (size_t)v[i].ordinal - first, e->app->arena);
        v[i].variant = x.variant;
        v[i].axes = x.axes;
    }
    return pk_store_calibrate(base->store, base->run_id, v, e->n_calibration_rows, err);
}

/* --- notes about it ---------------------------------------------------------------------------------------------------- */

enum pk_code pk_gate_print_calibration(const struct gate_entry *e, struct pk_out *out, struct pk_err *err)
{
    const struct pk_run *base = &e->side[PK_BASE].run;
    const struct pk_param params[] = {pk_param_int(":run", base->run_id),
                                      pk_param_text(":experiment", e->probe ? e->probe->name : "exec")};
    return pk_table_print(base->store, NULL, "calibration", PK_PARAMS(params), out, err);
}

static const char *how_to_calibrate(const struct gate_entry *e)
{
    struct pk_arena *a = e->app->arena;
    struct pk_buf b = {.arena = a};
    const struct pk_run_options *o = &e->o->run;
    pk_buf_str(&b, "perfkit calibrate");
    if (!e->probe) {
        pk_buf_str(&b, " --");
        for (const char *const *w = e->side[PK_NEW].argv; *w; w++)
            pk_buf_printf(&b, " %s", pk_shell_quote(*w, a));
        return pk_buf_text(&b);
    }
    pk_buf_printf(&b, " %s", pk_probe_call(e->probe));
    if (o->preset)
        pk_buf_printf(&b, " --preset %s", o->preset);
    for (size_t i = 0; i < e->side[PK_NEW].run.o->axes.n; i++)
        pk_buf_printf(&b, " -a %s", pk_shell_quote(e->side[PK_NEW].run.o->axes.v[i], a));
    for (size_t i = 0; i < e->side[PK_NEW].run.o->variants.n; i++)
        pk_buf_printf(&b, " -v %s", e->side[PK_NEW].run.o->variants.v[i]);
    return pk_buf_text(&b);
}

/* "0.25", "3.1", "130": of a share, in per cent. */
static const char *percent(double share, struct pk_arena *a)
{
    return pk_printf(a, share < 0.1 ? "%.2g" : "%.0f", 100 * share);
}

static const char *calibrated_note(const struct gate_entry *e)
{
    struct pk_arena *a = e->app->arena;
    double lowest = INFINITY, highest = 0;
    const struct pk_row_noise *newest = e->row_noise;
    for (size_t i = 0; i < e->n_row_noise; i++) {
        const struct pk_row_noise *k = &e->row_noise[i];
        lowest = fmin(lowest, k->of.of.noise.floor);
        highest = fmax(highest, k->of.of.noise.floor);
        newest = k->of.run_id > newest->of.run_id ? k : newest;
    }
    const size_t below = pk_rows_below_noise(e->row_noise, e->n_row_noise, pk_gate_rule(e->o).min_effect);
    return pk_printf(a, "Calibrated by run %lld (%.10s, %zu pairs): the noise floor of %s is %s%s %%%s.",
                     (long long)newest->of.run_id, newest->of.measured_at, newest->of.of.noise.pairs,
                     pk_plural(e->n_row_noise, "row", a),
                     highest > lowest ? pk_printf(a, "%s to ", percent(lowest, a)) : "", percent(highest, a),
                     below ? pk_printf(a, ", above --min-effect in %s", pk_plural(below, "row", a)) : "");
}

/* Two fresh pairs are enough for a t with one degree of freedom, which sees next to nothing. */
static const char *few_note(const struct gate_entry *e)
{
    enum { FEW = 6 };
    const struct pk_rule rule = pk_gate_rule(e->o);
    if (e->equal || rule.until_clear || rule.confirm_pairs >= FEW)
        return NULL;
    return pk_printf(e->app->arena,
                     "--max-pairs %zu leaves %s to confirm suspicious rows, which detects large changes only "
                     "(see MDE); --max-pairs %zu leaves %d.",
                     rule.max_pairs, pk_plural(rule.confirm_pairs, "fresh pair", e->app->arena),
                     rule.screen_pairs + FEW, FEW);
}

void pk_gate_note_noise(const struct gate *g, struct pk_out *out)
{
    for (size_t i = 0; i < g->n_entries; i++) {
        const struct gate_entry *e = &g->entries[i];
        const char *in = e->of->name ? pk_printf(g->app->arena, "[%s] ", e->of->name) : "";
        const char *noise =
            e->equal
                ? "equal: both sides are the same program with the same arguments, or settings that give the "
                  "same cases. Differences are noise: they are kept as a calibration, and nothing is judged."
            : e->n_row_noise ? calibrated_note(e)
                             : pk_printf(g->app->arena, "The noise floor here is unknown: `%s` measures it.",
                                         how_to_calibrate(e));
        pk_out_note(out, pk_printf(g->app->arena, "%s%s", in, noise));
        if (few_note(e))
            pk_out_note(out, pk_printf(g->app->arena, "%s%s", in, few_note(e)));
    }
}
