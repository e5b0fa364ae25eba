/* Gate sides, noise: what earlier calibrations say about the cases, and what equal sides add to it. */
#include "judge/gate/sides/sides.h"

#include "base/text/words.h"
#include "bench/plan/declared_work.h"
#include "bench/record/runinfo.h"

#include <math.h>

/* --- what is known ------------------------------------------------------------------------------------------------------ */

enum pk_code pk_gate_sides_noise(struct pk_gate_sides *s, struct pk_store *store,
                                 const struct pk_gate_samples *l, bool by_rule, struct pk_err *err)
{
    struct pk_arena *a = s->arena;
    const struct pk_run *base = &s->side[PK_BASE].run;
    struct pk_calibration *all = NULL;
    struct pk_run_info info = {0};
    struct pk_err ignored;
    size_t n;
    if (pk_store_calibrations(store, s->probe ? s->probe->name : "exec", a, &all, &n, &ignored) || !n)
        return PK_OK;
    if (pk_run_info_fill(&info, base->argc, base->argv, a, err))
        return err->code;
    struct pk_noise_of of = {.metrics = &s->what->metrics, .machine = info.machine};
    for (int i = 0; i < PK_SIDES; i++) {
        PK_JSON_CLEANUP json_t *words = s->probe ? NULL : pk_json_texts(s->side[i].argv, SIZE_MAX);
        of.plans[i] = s->probe ? &s->side[i].run.plan : NULL;
        of.words[i] = words ? pk_json_text(a, words, PK_JSON_CANON) : NULL;
    }
    if (s->probe)
        of.cases = &l->cases[s->side[PK_BASE].experiment.first];
    /* Of a command, what will be recorded that matters here. */
    of.settings =
        s->probe ? pk_run_settings(&s->side[PK_NEW].run) : pk_printf(a, "{\"warmup\": %d}", PK_GATE_WARMUP);
    s->n_row_noise = pk_row_noise_find(all, n, &of, a, &s->row_noise);
    return pk_noise_check(s->row_noise, s->n_row_noise, &s->criteria, &s->rule, by_rule, err);
}

/* --- what is found ------------------------------------------------------------------------------------------------------ */

enum pk_code pk_gate_sides_calibrate(struct pk_gate_sides *s, size_t part, struct pk_gate_result *result,
                                     const struct pk_gate_samples *l, struct pk_err *err)
{
    const struct pk_run *base = &s->side[PK_BASE].run;
    struct pk_comparison *c = &result->comparison, of_part = *c;
    struct pk_calibration_row *v;
    of_part.v = pk_new_n(s->arena, struct pk_compared, c->n + 1);
    of_part.n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (l->cases[c->v[i].base->ordinal].part == part) {
            of_part.v[of_part.n++] = c->v[i];
            c->v[i].judged = false;
        }
    if (result->interrupted)
        return PK_OK;
    s->n_calibration_rows = pk_calibration_rows(&of_part, &s->rule, s->arena, &v);
    /* A gate's cases lack what a side sets. */
    for (size_t i = 0; i < s->n_calibration_rows && s->probe; i++) {
        const size_t first = s->side[PK_BASE].experiment.first;
        const struct pk_case_info x =
            pk_planned_case_info(&base->plan, (size_t)v[i].ordinal - first, s->arena);
        v[i].variant = x.variant;
        v[i].axes = x.axes;
    }
    return pk_store_calibrate(base->store, base->run_id, v, s->n_calibration_rows, err);
}

/* --- sentences about it ------------------------------------------------------------------------------------------------- */

/* "0.25", "3.1", "130": of a share, in per cent. */
static const char *percent(double share, struct pk_arena *a)
{
    return pk_printf(a, share < 0.1 ? "%.2g" : "%.0f", 100 * share);
}

const char *pk_gate_sides_noise_note(const struct pk_gate_sides *s)
{
    struct pk_arena *a = s->arena;
    double lowest = INFINITY, highest = 0;
    const struct pk_row_noise *newest = s->row_noise;
    if (s->equal)
        return "equal: both sides are the same program with the same arguments, or settings that give the "
               "same cases. Differences are noise: they are kept as a calibration, and nothing is judged.";
    if (!s->n_row_noise)
        return NULL;
    for (size_t i = 0; i < s->n_row_noise; i++) {
        const struct pk_row_noise *k = &s->row_noise[i];
        lowest = fmin(lowest, k->of.of.noise.floor);
        highest = fmax(highest, k->of.of.noise.floor);
        newest = k->of.run_id > newest->of.run_id ? k : newest;
    }
    const size_t below = pk_rows_below_noise(s->row_noise, s->n_row_noise, s->rule.min_effect);
    return pk_printf(a, "Calibrated by run %lld (%.10s, %zu pairs): the noise floor of %s is %s%s %%%s.",
                     (long long)newest->of.run_id, newest->of.measured_at, newest->of.of.noise.pairs,
                     pk_plural(s->n_row_noise, "row", a),
                     highest > lowest ? pk_printf(a, "%s to ", percent(lowest, a)) : "", percent(highest, a),
                     below ? pk_printf(a, ", above --min-effect in %s", pk_plural(below, "row", a)) : "");
}

/* Two fresh pairs are enough for a t with one degree of freedom, which sees next to nothing. */
const char *pk_gate_sides_pairs_note(const struct pk_gate_sides *s)
{
    enum { FEW = 6 };
    const struct pk_rule *r = &s->rule;
    if (s->equal || r->until_clear || r->confirm_pairs >= FEW)
        return NULL;
    return pk_printf(s->arena,
                     "--max-pairs %zu leaves %s to confirm suspicious rows, which detects large changes only "
                     "(see MDE); --max-pairs %zu leaves %d.",
                     r->max_pairs, pk_plural(r->confirm_pairs, "fresh pair", s->arena), r->screen_pairs + FEW,
                     FEW);
}
