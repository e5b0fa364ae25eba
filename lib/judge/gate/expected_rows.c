/* Expected rows: figures without numbers, and the criteria that must fit them. */
#include "judge/gate/expected_rows.h"

#include "judge/pair/parts.h"

static bool will_be_tried(const struct pk_planned *p)
{
    return !p->skip && !p->too_large;
}

/* The times of a region that does not occur in a case are not reported. A gauge may be: whether it is set shows when it runs. */
static bool will_be_reported(const struct pk_planned *p, size_t metric, size_t n_regions)
{
    return metric >= 2 * n_regions || pk_region_applies(&p->c, (unsigned)metric / 2);
}

static size_t add_case(const struct pk_planned *p, const struct pk_case_info *shown, struct pk_arena *a,
                       struct pk_figures *v)
{
    struct pk_metric_decl *m;
    const size_t most = pk_probe_metrics(p->c.probe, a, &m);
    size_t n_regions = 0, n = 0;
    while (p->c.probe->regions[n_regions].name)
        n_regions++;
    for (size_t i = 0; i < most; i++)
        if (will_be_reported(p, i, n_regions))
            v[n++] = (struct pk_figures){.experiment = shown->experiment,
                                         .variant = shown->variant,
                                         .device = shown->device,
                                         .axes = shown->axes,
                                         .metric = m[i].name,
                                         .unit = m[i].unit,
                                         .direction = m[i].direction,
                                         .class = m[i].class,
                                         .source = m[i].source};
    return n;
}

void pk_expected_of_plan(const struct pk_plan *plan, const struct pk_gate_samples *l, size_t first,
                         const struct pk_compare_options *what, struct pk_arena *a,
                         struct pk_expected_rows *out)
{
    struct pk_metric_decl *ignored;
    struct pk_errs wrong = {.arena = a};
    const size_t most = pk_probe_metrics(plan->probe, a, &ignored) * plan->n;
    struct pk_figures *v = pk_new_n(a, struct pk_figures, most + 1);
    struct pk_compare_side *side = pk_new(a, struct pk_compare_side);
    *side = (struct pk_compare_side){.name = plan->probe->name, .v = v};
    for (size_t i = 0; i < plan->n; i++)
        if (will_be_tried(&plan->v[i]))
            side->n += add_case(&plan->v[i], &l->cases[first + i].info, a, v + side->n);
    const struct pk_compare_options judged = pk_compare_metrics_to_judge(side, what, NULL, a, &wrong);
    const struct pk_compare_side chosen = pk_compare_select(side, &judged, a);
    struct pk_compared *rows = pk_new_n(a, struct pk_compared, chosen.n + 1);
    for (size_t i = 0; i < chosen.n; i++)
        rows[i] = (struct pk_compared){.base = &chosen.v[i], .new_ = &chosen.v[i]};
    out->side = side;
    out->what = what;
    out->rows = rows;
    out->n = chosen.n;
}
