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

static struct pk_compare_side figures_of(const struct pk_expected_part *p, const struct pk_gate_samples *l,
                                         struct pk_arena *a)
{
    struct pk_metric_decl *ignored;
    const size_t most = pk_probe_metrics(p->plan->probe, a, &ignored) * p->plan->n;
    struct pk_figures *v = pk_new_n(a, struct pk_figures, most + 1);
    struct pk_compare_side side = {.name = p->name, .v = v};
    for (size_t i = 0; i < p->plan->n; i++)
        if (will_be_tried(&p->plan->v[i]))
            side.n += add_case(&p->plan->v[i], &l->cases[p->first + i].info, a, v + side.n);
    return side;
}

struct asking {
    struct pk_arena *arena;
    struct pk_compared *rows;
    size_t n, cap;
    struct pk_compare_side last; /* what the part that was asked last can report */
    struct pk_errs *wrong;
};

/* Its rows behind those that are there. */
static void ask_part(struct asking *k, const struct pk_expected_part *p, const struct pk_gate_samples *l)
{
    k->last = figures_of(p, l, k->arena);
    const struct pk_compare_options what =
        pk_compare_metrics_to_judge(&k->last, &p->what, p->place, k->arena, k->wrong);
    const struct pk_compare_side asked = pk_compare_select(&k->last, &what, k->arena);
    const size_t from = k->n;
    for (size_t i = 0; i < asked.n; i++) {
        k->rows = pk_grow(k->arena, k->rows, sizeof *k->rows, k->n, &k->cap);
        k->rows[k->n++] = (struct pk_compared){.base = &asked.v[i], .new_ = &asked.v[i]};
    }
    pk_thresholds_check(p->thresholds, p->n_thresholds, k->rows + from, k->n - from, &k->last, k->wrong);
}

void pk_expected_rows_check(const struct pk_expected_part *parts, size_t n, const struct pk_gate_samples *l,
                            const struct pk_threshold *all, size_t n_all, struct pk_arena *a,
                            struct pk_errs *wrong)
{
    struct asking k = {.arena = a, .wrong = wrong};
    bool known = true;
    for (size_t i = 0; i < n; i++) {
        known &= parts[i].plan != NULL;
        if (parts[i].plan)
            ask_part(&k, &parts[i], l);
    }
    if (known)
        pk_thresholds_check(all, n_all, k.rows, k.n, n == 1 ? &k.last : NULL, wrong);
}
