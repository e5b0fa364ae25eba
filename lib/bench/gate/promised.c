/* Promised: figures without numbers, and what is asked of them. */
#include "bench/gate/promised.h"

#include "bench/compare/parts.h"

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

static struct pk_compare_side figures_of(const struct pk_promised_part *p, const struct pk_ledger *l,
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
    struct pk_err *wrong;
    size_t n_wrong, wrong_cap;
};

static void keep(struct asking *k, const struct pk_err *err)
{
    k->wrong = pk_grow(k->arena, k->wrong, sizeof *k->wrong, k->n_wrong, &k->wrong_cap);
    k->wrong[k->n_wrong++] = *err;
}

static void ask_thresholds(struct asking *k, const struct pk_threshold *t, size_t n, size_t from,
                           const struct pk_compare_side *measured)
{
    struct pk_err err;
    for (size_t i = 0; i < n && k->n > from; i++)
        if (pk_thresholds_check(&t[i], 1, k->rows + from, k->n - from, measured, &err))
            keep(k, &err);
}

/* Leaves the metrics that there are. */
static struct pk_compare_options ask_metrics(struct asking *k, const struct pk_promised_part *p,
                                             const struct pk_compare_side *side)
{
    struct pk_compare_options what = p->what, one = p->what;
    const char **left = pk_new_n(k->arena, const char *, what.n_metrics + 1);
    struct pk_err err;
    what.metrics = left;
    what.n_metrics = 0;
    one.n_metrics = 1;
    for (size_t i = 0; i < p->what.n_metrics; i++) {
        one.metrics = &p->what.metrics[i];
        if (!pk_compare_check_metrics(side, &one, true, k->arena, &err)) {
            left[what.n_metrics++] = *one.metrics;
            continue;
        }
        if (p->place)
            pk_within(&err, "%s", p->place);
        keep(k, &err);
    }
    return what;
}

/* Its rows behind those that are there. */
static void ask_part(struct asking *k, const struct pk_promised_part *p, const struct pk_ledger *l)
{
    k->last = figures_of(p, l, k->arena);
    const struct pk_compare_options what = ask_metrics(k, p, &k->last);
    const struct pk_compare_side asked = pk_compare_select(&k->last, &what, k->arena);
    const size_t from = k->n;
    for (size_t i = 0; i < asked.n; i++) {
        k->rows = pk_grow(k->arena, k->rows, sizeof *k->rows, k->n, &k->cap);
        k->rows[k->n++] = (struct pk_compared){.base = &asked.v[i], .new_ = &asked.v[i]};
    }
    ask_thresholds(k, p->thresholds, p->n_thresholds, from, &k->last);
}

size_t pk_promised_wrong(const struct pk_promised_part *parts, size_t n, const struct pk_ledger *l,
                         const struct pk_threshold *all, size_t n_all, struct pk_arena *a,
                         const struct pk_err **wrong)
{
    struct asking k = {.arena = a};
    bool known = true;
    for (size_t i = 0; i < n; i++) {
        known &= parts[i].plan != NULL;
        if (parts[i].plan)
            ask_part(&k, &parts[i], l);
    }
    if (known)
        ask_thresholds(&k, all, n_all, 0, n == 1 ? &k.last : NULL);
    *wrong = k.wrong;
    return k.n_wrong;
}
