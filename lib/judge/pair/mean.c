/* Compare, means: the geometric mean of ratios, with an interval that knows that the cases of one process are not independent. */
#include "judge/pair/pair.h"
#include "stats/stats.h"

#include <math.h>
#include <string.h>

/* The invocations that every row has on one side, or, with `both`, on both. */
struct common {
    int64_t *v;
    size_t n;
};

static void keep(struct common *c, const struct pk_figures *f)
{
    size_t n = 0, k = 0;
    for (size_t i = 0; i < c->n; i++) {
        while (k < f->n && f->invocation[k] < c->v[i])
            k++;
        if (k < f->n && f->invocation[k] == c->v[i])
            c->v[n++] = c->v[i];
    }
    c->n = n;
}

static struct common common_to(const struct pk_compared *const *v, size_t n, bool base, bool both,
                               struct pk_arena *a)
{
    const struct pk_figures *first = base ? v[0]->base : v[0]->new_;
    struct common c = {pk_new_n(a, int64_t, first->n), first->n};
    memcpy(c.v, first->invocation, first->n * sizeof *c.v);
    for (size_t i = 0; i < n; i++) {
        if (base || both)
            keep(&c, v[i]->base);
        if (!base || both)
            keep(&c, v[i]->new_);
    }
    return c;
}

/* The geometric mean over cases of each invocation's figures. */
static const double *per_invocation(const struct pk_compared *const *v, size_t n, bool base,
                                    const struct common *c, struct pk_arena *a)
{
    double *mean = pk_new_n(a, double, c->n);
    for (size_t k = 0; k < c->n; k++) {
        for (size_t i = 0; i < n; i++) {
            const struct pk_figures *f = base ? v[i]->base : v[i]->new_;
            size_t at = 0;
            while (f->invocation[at] != c->v[k])
                at++;
            mean[k] += log(f->figure[at]) / (double)n;
        }
        mean[k] = exp(mean[k]);
    }
    return mean;
}

/* The geometric means of the ratios and of their ends. */
static struct pk_ratio mean_of_rows(const struct pk_compared *const *v, size_t n)
{
    double ratio = 0, lo = 0, hi = 0;
    for (size_t i = 0; i < n; i++) {
        ratio += log(v[i]->ratio.ratio) / (double)n;
        lo += log(v[i]->ratio.ci.lo) / (double)n;
        hi += log(v[i]->ratio.ci.hi) / (double)n;
    }
    return (struct pk_ratio){.ratio = exp(ratio), .ci = {exp(lo), exp(hi)}, .p = NAN, .df = NAN};
}

static struct pk_ratio mean_ratio(const struct pk_compared *const *v, size_t n, double level,
                                  enum pk_design design, struct pk_arena *a)
{
    const bool pairs = design == PK_DESIGN_GATE || design == PK_DESIGN_PAIRS;
    if (!pairs && !pk_figures_of_runs(v[0]->base, v[0]->new_))
        return mean_of_rows(v, n);
    const struct common b = common_to(v, n, true, pairs, a), w = common_to(v, n, false, pairs, a);
    if (b.n > 1 && w.n > 1) {
        const double *base = per_invocation(v, n, true, &b, a), *new_ = per_invocation(v, n, false, &w, a);
        return pairs ? pk_ratio_paired(base, new_, b.n, level) : pk_ratio_welch(base, b.n, new_, w.n, level);
    }
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += log(v[i]->ratio.ratio);
    return (struct pk_ratio){.ratio = exp(sum / (double)n), .ci = {NAN, NAN}, .p = NAN, .df = NAN};
}

static bool same_group(const struct pk_compared *x, const struct pk_compared *y)
{
    return strcmp(x->new_->metric, y->new_->metric) == 0 && strcmp(x->new_->unit, y->new_->unit) == 0 &&
           (!x->value || strcmp(x->value, y->value) == 0);
}

size_t pk_compare_means(const struct pk_compared *v, size_t n, double level, enum pk_design design,
                        struct pk_arena *a, const struct pk_compare_mean **means)
{
    struct pk_compare_mean *list = NULL;
    const struct pk_compared **group = pk_new_n(a, const struct pk_compared *, n);
    size_t found = 0, cap = 0;
    for (size_t i = 0; i < n; i++) {
        size_t earlier = 0, members = 0;
        while (earlier < i && !same_group(&v[earlier], &v[i]))
            earlier++;
        for (size_t k = i; k < n && earlier == i; k++) {
            if (same_group(&v[i], &v[k]) && !isnan(v[k].ratio.ratio))
                group[members++] = &v[k];
        }
        if (members < 2)
            continue;
        const struct pk_figures *f = v[i].new_;
        list = pk_grow(a, list, sizeof *list, found, &cap);
        struct pk_ratio r = mean_ratio(group, members, level, design, a);
        list[found++] = (struct pk_compare_mean){.metric = f->metric,
                                                 .unit = f->unit,
                                                 .direction = f->direction,
                                                 .value = v[i].value,
                                                 .cases = members,
                                                 .ratio = r,
                                                 .speedup = pk_speedup(f->direction, r.ratio)};
    }
    *means = list;
    return found;
}

/* --- what all rows have in common ------------------------------------------------------------------------ */

double pk_common_shift(const struct pk_comparison *c, struct pk_arena *a)
{
    enum { FEWEST = 5, DEVIATIONS = 4 }; /* fewer rows change alike by chance */
    const double least = log1p(0.01);
    double *logs = pk_new_n(a, double, c->n + 1), *scratch = pk_new_n(a, double, c->n + 1);
    size_t n = 0, slower = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct pk_compared *row = &c->v[i];
        if (!row->judged || strcmp(row->new_->unit, "ns") != 0 || !isfinite(row->ratio.ratio))
            continue;
        slower += row->ratio.ratio > 1;
        logs[n++] = log(row->ratio.ratio);
    }
    if (n < FEWEST || 10 * (slower > n - slower ? slower : n - slower) <= 8 * n)
        return 1;
    const double deviation = pk_mad(logs, n, scratch), median = pk_summarize(logs, n).median;
    return fabs(median) >= fmax(least, DEVIATIONS * deviation) ? exp(median) : 1;
}
