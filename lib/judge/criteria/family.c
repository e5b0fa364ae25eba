/* Family: collecting rows, then judging them together. */
#include "judge/criteria/family.h"

#include "judge/pair/parts.h"

/* A part's rows behind those that are there. */
static void add_rows(const struct pk_compare_family *f, const struct pk_compare_part *p,
                     struct pk_comparison *all, struct pk_errs *wrong)
{
    const struct pk_asked asked = {.own = p->thresholds,
                                   .n_own = p->n_thresholds,
                                   .min_effect = p->min_effect,
                                   .all = f->thresholds,
                                   .n_all = f->n_thresholds,
                                   .typed = f->typed};
    struct pk_compared *rows = all->v + all->n;
    const size_t n = p->of->n;
    for (size_t i = 0; i < n; i++) {
        rows[i] = p->of->v[i];
        rows[i].entry = p->name;
    }
    pk_thresholds_check(p->thresholds, p->n_thresholds, rows, n, NULL, wrong);
    pk_thresholds_ask(&asked, rows, n);
    all->n += n;
}

static void add_parts(const struct pk_compare_family *f, bool refused, struct pk_comparison *all,
                      struct pk_errs *wrong)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->v[i].refused == refused)
            add_rows(f, &f->v[i], all, wrong);
}

void pk_compare_judge_family(const struct pk_compare_family *f, struct pk_arena *a, struct pk_comparison *out,
                             struct pk_errs *wrong)
{
    const struct pk_judging j = {.rule = f->rule, .design = PK_DESIGN_STORED};
    const struct pk_compare_options what = {.level = f->level, .design = PK_DESIGN_STORED};
    struct pk_comparison all = {0};
    size_t most = 0;
    for (size_t i = 0; i < f->n; i++)
        most += f->v[i].of->n;
    all.v = pk_new_n(a, struct pk_compared, most + 1);
    add_parts(f, false, &all, wrong);
    const size_t n_judged = all.n;
    add_parts(f, true, &all, wrong);
    pk_thresholds_check(f->thresholds, f->n_thresholds, all.v, all.n, NULL, wrong);
    pk_judge(all.v, n_judged, &j);
    *out = (struct pk_comparison){0};
    pk_compare_finish(all.v, all.n, &what, a, out);
    pk_compare_sort(out->v, out->n);
}
