/* Gate, cases: plans and matches the cases of both sides before measuring; finds equal sides and criteria that match no expected row. */
#include "cmd/gate/gate.h"

#include "base/file.h"
#include "judge/gate/gate.h"

#include <sys/stat.h>

static enum pk_code plan_side(struct gate_entry *e, struct gate_side *s, struct pk_err *err)
{
    struct pk_run *r = &s->run;
    if (pk_run_choose_device(r, err) || pk_run_make_plan(r, err))
        return r->probe != e->probe ? pk_within(err, "--%s %s", s->option, s->text) : err->code;
    struct pk_texts axes = r->o->axes, variants = r->o->variants;
    *r->o = e->o->run; /* with what the preset says */
    r->o->axes = axes;
    r->o->variants = variants;
    r->ceilings_key = pk_ceilings_key(r->device, &r->device_options, e->app->arena);
    return PK_OK;
}

static void plans_of(struct gate_entry *e, struct pk_gate_plan plans[PK_SIDES])
{
    for (int i = 0; i < PK_SIDES; i++)
        plans[i] = (struct pk_gate_plan){e->side[i].option, e->side[i].is_settings ? e->side[i].text : NULL,
                                         &e->side[i].run.plan};
}

enum pk_code pk_gate_plan(struct gate *g, size_t part, struct pk_err *err)
{
    struct gate_entry *e = &g->entries[part];
    struct pk_gate_plan plans[PK_SIDES];
    const char *warning;
    e->side[PK_NEW].run.shown = &e->side[PK_BASE].run.plan;
    for (int i = 0; i < PK_SIDES; i++)
        if (plan_side(e, &e->side[i], err))
            return err->code;
    plans_of(e, plans);
    for (int i = 0; i < PK_SIDES; i++)
        e->side[i].experiment.first = g->samples.n_cases;
    if (pk_gate_match_cases(plans, &g->samples, part, &warning, err))
        return err->code;
    if (warning)
        pk_warn(e->app, "%s", warning);
    return PK_OK;
}

bool pk_gate_equal(struct gate_entry *e)
{
    struct pk_gate_plan plans[PK_SIDES];
    plans_of(e, plans);
    return e->side[PK_BASE].is_settings
               ? pk_gate_same_cases(plans, e->app->arena)
               : pk_same_program(e->side[PK_BASE].argv, e->side[PK_NEW].argv, e->app->arena);
}

bool pk_gate_all_equal(const struct gate *g)
{
    size_t i = 0;
    while (i < g->n_entries && g->entries[i].equal)
        i++;
    return i == g->n_entries;
}

/* --- criteria ------------------------------------------------------------------------------------------------------ */

struct pk_rule pk_gate_rule(const struct gate_options *o)
{
    struct pk_rule r = pk_verdict_rule(&o->verdict);
    r.until_clear = o->until_clear;
    if (o->max_pairs)
        pk_rule_of_pairs(&r, (size_t)o->max_pairs);
    return r;
}

struct pk_criteria pk_gate_criteria(const struct gate *g, const struct gate_entry *e)
{
    const bool own_effect = pk_entry_gives(e->of, "min-effect");
    return (struct pk_criteria){
        .own = e->thresholds,
        .n_own = e->n_thresholds,
        .min_effect = own_effect ? e->o->verdict.min_effect : 0,
        .all = g->thresholds,
        .n_all = g->o->verdict.thresholds.n,
        .typed = pk_opt_source_of(&g->app->tables[1], "threshold") > PK_OPT_SUITE_ENTRY,
    };
}

/* A row is of both sides, so that it is enough to know one of them: another perfkit may have other metrics. */
static bool has_cases(const struct gate_entry *e)
{
    bool any = false;
    for (int i = 0; e->probe && i < PK_SIDES; i++)
        any |= e->side[i].is_settings || e->probe->own ||
               pk_same_file("/proc/self/exe", pk_program_path(e->side[i].argv[0], e->app->arena));
    return any;
}

enum pk_code pk_gate_check_criteria(const struct gate *g, struct pk_err *err)
{
    struct pk_arena *a = g->app->arena;
    struct pk_expected_rows *parts = pk_new_n(a, struct pk_expected_rows, g->n_entries);
    struct pk_compare_options *what = pk_new_n(a, struct pk_compare_options, g->n_entries);
    size_t n = 0;
    for (size_t i = 0; i < g->n_entries; i++) {
        const struct gate_entry *e = &g->entries[i];
        if (!has_cases(e))
            continue;
        what[i] = pk_verdict_what(&e->o->verdict);
        parts[n] = (struct pk_expected_rows){
            .place = e->of->place,
            .criteria = pk_gate_criteria(g, e),
        };
        pk_expected_of_plan(&e->side[PK_NEW].run.plan, &g->samples, e->side[PK_BASE].experiment.first,
                            &what[i], a, &parts[n++]);
    }
    struct pk_errs wrong = {.arena = a};
    return pk_expected_rows_check(parts, n, n == g->n_entries, &wrong, err) ? pk_all_errors(&wrong, err)
                                                                            : PK_OK;
}

void pk_gate_note_unknown(const struct gate *g, struct pk_out *out)
{
    for (size_t i = 0; i < g->n_entries; i++) {
        const struct gate_entry *e = &g->entries[i];
        if (has_cases(e) || !(e->o->verdict.thresholds.n + e->o->verdict.metrics.n))
            continue;
        pk_out_note(out,
                    pk_printf(g->app->arena,
                              "%s%s%sWhat %s is not known in advance: --threshold and --metric are "
                              "validated after the first two pairs.",
                              e->of->name ? "[" : "", e->of->name ? e->of->name : "", e->of->name ? "] " : "",
                              e->probe ? "other builds of perfkit report" : "a command reports"));
    }
}
