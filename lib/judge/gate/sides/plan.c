/* Gate sides, plan: the cases of both sides before measuring; equal sides, and criteria that match no expected row. */
#include "judge/gate/sides/sides.h"

#include "base/file.h"

static enum pk_code plan_side(const struct pk_gate_sides *of, struct pk_gate_side *s, struct pk_err *err)
{
    struct pk_run *r = &s->run;
    if (pk_run_choose_device(r, err) || pk_run_make_plan(r, err))
        return r->probe != of->probe ? pk_within(err, "--%s %s", s->option, s->text) : err->code;
    struct pk_texts axes = r->o->axes, variants = r->o->variants;
    *r->o = *of->options; /* with what the preset says */
    r->o->axes = axes;
    r->o->variants = variants;
    r->ceilings_key = pk_ceilings_key(r->device, &r->device_options, of->arena);
    return PK_OK;
}

static void plans_of(struct pk_gate_sides *s, struct pk_gate_plan plans[PK_SIDES])
{
    for (int i = 0; i < PK_SIDES; i++)
        plans[i] = (struct pk_gate_plan){
            .option = s->side[i].option,
            .settings = s->side[i].is_settings ? s->side[i].text : NULL,
            .plan = &s->side[i].run.plan,
        };
}

enum pk_code pk_gate_sides_plan(struct pk_gate_sides *s, size_t part, struct pk_gate_samples *l,
                                const char **warning, struct pk_err *err)
{
    struct pk_gate_plan plans[PK_SIDES];
    s->side[PK_NEW].run.shown = &s->side[PK_BASE].run.plan;
    for (int i = 0; i < PK_SIDES; i++)
        if (plan_side(s, &s->side[i], err))
            return err->code;
    plans_of(s, plans);
    for (int i = 0; i < PK_SIDES; i++)
        s->side[i].experiment.first = l->n_cases;
    return pk_gate_match_cases(plans, l, part, warning, err);
}

void pk_gate_sides_compare(struct pk_gate_sides *s)
{
    struct pk_gate_plan plans[PK_SIDES];
    plans_of(s, plans);
    s->equal = s->calibration ? true
               : s->side[PK_BASE].is_settings
                   ? pk_gate_same_cases(plans, s->arena)
                   : pk_same_program(s->side[PK_BASE].argv, s->side[PK_NEW].argv, s->arena);
}

/* --- criteria ------------------------------------------------------------------------------------------------------ */

/* A row is of both sides, so that it is enough to know one of them: another perfkit may have other metrics. */
bool pk_gate_sides_rows_known(const struct pk_gate_sides *s)
{
    bool any = false;
    for (int i = 0; s->probe && i < PK_SIDES; i++)
        any |= s->side[i].is_settings || s->probe->own ||
               pk_same_file("/proc/self/exe", pk_program_path(s->side[i].argv[0], s->arena));
    return any;
}

enum pk_code pk_gate_sides_check_criteria(const struct pk_gate_sides *v, size_t n,
                                          const struct pk_gate_samples *l, struct pk_errs *wrong,
                                          struct pk_err *err)
{
    struct pk_arena *a = l->arena;
    struct pk_expected_rows *parts = pk_new_n(a, struct pk_expected_rows, n);
    struct pk_compare_options *what = pk_new_n(a, struct pk_compare_options, n);
    size_t known = 0;
    for (size_t i = 0; i < n; i++) {
        const struct pk_gate_sides *s = &v[i];
        if (!pk_gate_sides_rows_known(s))
            continue;
        what[i] = pk_verdict_what(s->what);
        parts[known] = (struct pk_expected_rows){.place = s->place, .criteria = s->criteria};
        pk_expected_of_plan(&s->side[PK_NEW].run.plan, l, s->side[PK_BASE].experiment.first, &what[i], a,
                            &parts[known++]);
    }
    return pk_expected_rows_check(parts, known, known == n, wrong, err);
}
