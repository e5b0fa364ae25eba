/* Compare, means: the geometric mean of ratios, with an interval that knows that the cases of one process are not independent. */
#include "bench/compare/parts.h"

#include <math.h>
#include <string.h>

/* True when every row's figures come from the invocations of the first row's, at least two. */
static bool complete(const struct pk_compared *const *v, size_t n, bool base)
{
    const struct pk_figures *first = base ? v[0]->base : v[0]->new_;
    for (size_t i = 0; i < n; i++) {
        const struct pk_figures *f = base ? v[i]->base : v[i]->new_;
        if (f->n != first->n || memcmp(f->invocation, first->invocation, f->n * sizeof *f->invocation) != 0)
            return false;
    }
    return first->n > 1;
}

/* The geometric mean over cases of each invocation's figures. */
static const double *per_invocation(const struct pk_compared *const *v, size_t n, bool base,
                                    struct pk_arena *a)
{
    size_t invocations = base ? v[0]->base->n : v[0]->new_->n;
    double *mean = pk_new_n(a, double, invocations);
    for (size_t k = 0; k < invocations; k++) {
        for (size_t i = 0; i < n; i++)
            mean[k] += log((base ? v[i]->base : v[i]->new_)->figure[k]) / (double)n;
        mean[k] = exp(mean[k]);
    }
    return mean;
}

static struct pk_ratio mean_ratio(const struct pk_compared *const *v, size_t n, double level,
                                  struct pk_arena *a)
{
    if (complete(v, n, true) && complete(v, n, false))
        return pk_ratio_welch(per_invocation(v, n, true, a), v[0]->base->n, per_invocation(v, n, false, a),
                              v[0]->new_->n, level);
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

size_t pk_compare_means(const struct pk_compared *v, size_t n, double level, struct pk_arena *a,
                        const struct pk_compare_mean **means)
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
        struct pk_ratio r = mean_ratio(group, members, level, a);
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
