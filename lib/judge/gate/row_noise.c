/* Row noise: noise of equal sides, and thresholds that are below it. */
#include "judge/gate/row_noise.h"

#include "base/text/buf.h"
#include "bench/plan/declared_work.h"
#include "judge/pair/pair.h"
#include "json/json.h"

#include <string.h>

/* --- keeping ---------------------------------------------------------------------------------------------------------- */

size_t pk_calibration_rows(const struct pk_comparison *c, const struct pk_rule *rule, struct pk_arena *a,
                           struct pk_calibration_row **v)
{
    const struct pk_simulated_gates *gates = pk_simulate_gates(rule, a);
    size_t n = 0;
    *v = pk_new_n(a, struct pk_calibration_row, c->n + 1);
    for (size_t i = 0; i < c->n; i++) {
        const struct pk_figures *f = c->v[i].base;
        const struct pk_pairs pairs = pk_compare_pairs(&c->v[i], a);
        struct pk_calibration_row *k = &(*v)[n];
        *k = (struct pk_calibration_row){.experiment = f->experiment,
                                         .variant = f->variant,
                                         .device = f->device,
                                         .axes = f->axes,
                                         .metric = f->metric,
                                         .ordinal = f->ordinal};
        n += !pk_figures_exact(f) && pk_measure_noise(&pairs, rule, gates, &k->noise);
    }
    return n;
}

/* --- finding ---------------------------------------------------------------------------------------------------------- */

static bool same_row(const struct pk_calibration *x, const struct pk_calibration *y, struct pk_arena *a)
{
    return x->revision == y->revision && !strcmp(x->identity, y->identity) &&
           !strcmp(x->of.variant, y->of.variant) && !strcmp(x->of.metric, y->of.metric) &&
           !strcmp(x->of.experiment, y->of.experiment) &&
           !strcmp(pk_device_class(x->of.device, a), pk_device_class(y->of.device, a));
}

size_t pk_calibrations_here(const struct pk_calibration *all, size_t n, const char *machine,
                            const char *settings, struct pk_arena *a, struct pk_calibration **here)
{
    const struct pk_run_facts now = {.machine = machine, .settings = settings, .worker_facts = "{}"};
    size_t kept = 0;
    *here = pk_new_n(a, struct pk_calibration, n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct pk_run_facts then = {
            .machine = all[i].machine, .settings = all[i].settings, .worker_facts = "{}"};
        const char *const *differences;
        size_t k = 0;
        while (k < kept && !same_row(&(*here)[k], &all[i], a))
            k++;
        if (k == kept && !pk_compare_setups(&then, &now, a, &differences))
            (*here)[kept++] = all[i];
    }
    return kept;
}

/* Calibrations of other commands do not apply. */
static size_t of_these_commands(const struct pk_calibration *all, size_t n, const struct pk_noise_of *of,
                                struct pk_arena *a, struct pk_calibration *v)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        PK_JSON_CLEANUP json_t *settings = json_loads(all[i].settings, 0, NULL);
        const char *words = pk_json_text(a, json_object_get(settings, "command"), PK_JSON_CANON);
        if (strcmp(words, of->words[PK_BASE]) == 0 || strcmp(words, of->words[PK_NEW]) == 0)
            v[kept++] = all[i];
    }
    return kept;
}

/* The case of the gate that was calibrated; SIZE_MAX = none. */
static size_t case_of(const struct pk_noise_of *of, const struct pk_calibration *c, struct pk_arena *a)
{
    for (size_t i = 0; i < of->plans[PK_BASE]->n; i++)
        for (int side = 0; side < PK_SIDES; side++) {
            const struct pk_case_info x = pk_planned_case_info(of->plans[side], i, a);
            if (strcmp(x.variant, c->of.variant) == 0 && strcmp(x.identity, c->identity) == 0 &&
                x.revision == c->revision)
                return i;
        }
    return SIZE_MAX;
}

size_t pk_row_noise_find(const struct pk_calibration *all, size_t n, const struct pk_noise_of *of,
                         struct pk_arena *a, struct pk_row_noise **rows)
{
    struct pk_calibration *v = pk_new_n(a, struct pk_calibration, n + 1);
    size_t n_rows = 0;
    if (!of->cases) {
        n = of_these_commands(all, n, of, a, v);
        all = v;
    }
    n = pk_calibrations_here(all, n, of->machine, of->settings, a, &v);
    *rows = pk_new_n(a, struct pk_row_noise, n + 1);
    for (size_t i = 0; i < n; i++) {
        const size_t at = of->cases ? case_of(of, &v[i], a) : 0;
        if (at == SIZE_MAX || (of->metrics->n && !pk_texts_has(of->metrics, v[i].of.metric)))
            continue;
        const struct pk_case_info *shown = of->cases ? &of->cases[at].info : NULL;
        (*rows)[n_rows++] = (struct pk_row_noise){
            .of = v[i],
            .variant = shown ? shown->variant : v[i].of.variant,
            .axes = shown ? shown->axes : v[i].of.axes,
        };
    }
    return n_rows;
}

/* --- thresholds ------------------------------------------------------------------------------------------------------- */

/* "variant=flash,seq_len=1024"; "" for a command, the only one of its gate. */
static const char *where_of(const struct pk_row_noise *k, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    PK_JSON_CLEANUP json_t *axes = json_loads(k->axes, 0, NULL);
    const char *axis;
    json_t *value;
    if (json_object_get(axes, "command"))
        return "";
    pk_buf_printf(&b, "variant=%s", k->variant);
    json_object_foreach(axes, axis, value) pk_buf_printf(&b, ",%s=%s", axis, pk_axis_text(k->axes, axis, a));
    return pk_buf_text(&b);
}

size_t pk_rows_below_noise(const struct pk_row_noise *k, size_t n, double size)
{
    size_t below = 0;
    for (size_t i = 0; i < n; i++)
        below += size < k[i].of.of.noise.floor;
    return below;
}

/* The share that this row must change by; 0 = nothing, or an absolute change, whose share is not known yet. */
static double wanted_effect(const struct pk_row_noise *k, const struct pk_criteria *criteria,
                            const struct pk_rule *rule, bool by_rule)
{
    const struct pk_figures f = {.experiment = k->of.of.experiment,
                                 .variant = k->variant,
                                 .device = k->of.of.device,
                                 .axes = k->axes,
                                 .metric = k->of.of.metric,
                                 .unit = k->of.unit,
                                 .class = "time"}; /* of exact ones nothing is calibrated */
    struct pk_compared row = {.base = &f, .new_ = &f};
    pk_criteria_apply(criteria, &row, 1);
    if (row.min_change > 0)
        return 0;
    return row.min_effect > 0 ? row.min_effect : by_rule ? rule->min_effect : 0;
}

static enum pk_code refuse(const struct pk_row_noise *k, double size, const struct pk_rule *rule,
                           struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_pair_noise *noise = &k->of.of.noise;
    const char *where = where_of(k, &a);
    pk_fail(err, PK_E_UNDECIDED, "a change of %.3g %% in %s of %s is below its noise floor, %.2g %%",
            100 * size, k->of.of.metric, *where ? where : k->variant, 100 * noise->floor);
    pk_why(err,
           "in the calibration of run %lld (%.10s, %zu pairs) processes differ by %.2g %%, so %zu pairs "
           "cannot detect less than %.2g %%",
           (long long)k->of.run_id, k->of.measured_at, noise->pairs, 100 * noise->between,
           rule->screen_pairs + rule->confirm_pairs, 100 * noise->floor);
    return pk_fix(
        err, "use --threshold '%s%s%s%s=%.2g%%' or more, or a quieter machine with a new `perfkit calibrate`",
        k->of.of.metric, *where ? "[" : "", where, *where ? "]" : "", 100 * noise->min_effect);
}

enum pk_code pk_noise_check(const struct pk_row_noise *k, size_t n, const struct pk_criteria *criteria,
                            const struct pk_rule *rule, bool by_rule, struct pk_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const double size = wanted_effect(&k[i], criteria, rule, by_rule);
        if (size > 0 && size < k[i].of.of.noise.floor)
            return refuse(&k[i], size, rule, err);
    }
    return PK_OK;
}
