/* Change points: pieces found, tested against each other, and merged until the p of each is below max_p. */
#include "judge/history/change_points.h"

#include "stats/dist.h"
#include "stats/rank.h"
#include "stats/stats.h"
#include "stats/trend.h"

#include <math.h>
#include <string.h>

static const double max_p = 0.001;
/* So many standard errors of a correlation are chance. */
static const double correlation_errors = 0.5;

struct series_pieces {
    const double *v;
    size_t *starts, n;      /* starts[n] is the number of values */
    double *scratch, *rest; /* as many as values */
};

static double level(const struct series_pieces *p, size_t i)
{
    size_t n = p->starts[i + 1] - p->starts[i];
    memcpy(p->scratch, p->v + p->starts[i], n * sizeof *p->v);
    return pk_median_of(p->scratch, n);
}

/* What is left of the values without the levels of their pieces, as shares of these. */
struct residuals {
    double sd;
    double rho; /* lag-1 correlation; 0 when it is within chance of none */
};

/* Outliers count as 3 standard deviations. Subtracting a level takes about (1 + 3 rho) / n off the correlation of n values (Marriott and
 * Pope 1954). */
static struct residuals residuals_of(const struct series_pieces *p)
{
    static const double farthest = 3;
    const size_t n = p->starts[p->n];
    const double off = (double)p->n / (double)n;
    double products = 0, squares = 0, all = 0, last = 0;
    for (size_t k = 0; k < p->n; k++) {
        const double middle = level(p, k);
        for (size_t i = p->starts[k]; i < p->starts[k + 1]; i++)
            p->rest[i] = p->v[i] / middle - 1;
    }
    const double most = farthest * pk_mad(p->rest, n, p->scratch);
    for (size_t i = 0, k = 0; i < n; i++) {
        const double rest = fmin(fmax(p->rest[i], -most), most);
        k += i == p->starts[k + 1];
        squares += rest * rest;
        all += p->rest[i] * p->rest[i];
        products += i > p->starts[k] ? rest * last : 0;
        last = rest;
    }
    const double rho = (products / squares + off) / (1 - 3 * off) - correlation_errors / sqrt((double)n);
    return (struct residuals){sqrt(all / (double)n),
                              isfinite(rho) && 3 * off < 1 ? fmin(fmax(rho, 0), 0.95) : 0};
}

/* p of "pieces i - 1 and i are of one level"; 1 when they differ by less than is of interest. Of correlated values n say as much as
 * n (1 - rho) / (1 + rho) independent ones. The rank test, scaled so, may be too weak for any change point then; a t test of the two medians, whose
 * standard error is about 5/4 of that of means, sees how large it is. */
static double doubt(const struct series_pieces *p, size_t i, const struct residuals *r, double min_effect)
{
    const size_t n1 = p->starts[i] - p->starts[i - 1], n2 = p->starts[i + 1] - p->starts[i];
    const double before = level(p, i - 1), after = level(p, i);
    if (!(fabs(after - before) >= min_effect * fabs(before)))
        return 1;
    const double ranks = pk_mann_whitney(p->v + p->starts[i - 1], n1, p->v + p->starts[i], n2).p;
    if (!(r->rho > 0) || ranks >= 1)
        return ranks;
    const double worth = (1 - r->rho) / (1 + r->rho), least = 1e-300;
    const double z = -pk_normal_quantile(fmax(ranks, least) / 2) * sqrt(worth),
                 df = (double)(n1 + n2) * worth - 2;
    const double se = 1.25 * r->sd * sqrt((1 / (double)n1 + 1 / (double)n2) / worth);
    const double size = df > 0 ? pk_t_two_sided(fabs(after / before - 1) / se, df) : 1;
    return fmin(2 * pk_normal_below(-z), size);
}

static void merge(struct series_pieces *p, double min_effect)
{
    while (p->n > 1) {
        size_t worst = 0;
        double most = 0;
        const struct residuals r = residuals_of(p);
        for (size_t i = 1; i < p->n; i++) {
            double d = doubt(p, i, &r, min_effect);
            if (d >= most) {
                most = d;
                worst = i;
            }
        }
        if (most < max_p)
            return;
        memmove(&p->starts[worst], &p->starts[worst + 1], (p->n - worst) * sizeof *p->starts);
        p->n--;
    }
}

size_t pk_find_change_points(const double *v, size_t n, double min_effect, bool exact, struct pk_arena *a,
                             const struct pk_change_point **change_points)
{
    enum { LEAST = 3 };
    struct series_pieces p = {.v = v,
                              .starts = pk_new_n(a, size_t, n + 2),
                              .scratch = pk_new_n(a, double, n + 1),
                              .rest = pk_new_n(a, double, n + 1)};
    double *logs = pk_new_n(a, double, n + 1);
    if (!n)
        return 0;
    pk_log_or_copy(logs, v, n);
    if (!exact)
        p.n = pk_find_changes(logs, n, 3 * log((double)n), LEAST, p.starts);
    for (size_t i = 0; exact && i < n; i++)
        if (!i || v[i] != v[i - 1])
            p.starts[p.n++] = i;
    p.starts[p.n] = n;
    if (!exact)
        merge(&p, min_effect);
    const struct residuals r = residuals_of(&p);
    struct pk_change_point *found = pk_new_n(a, struct pk_change_point, p.n);
    for (size_t i = 1; i < p.n; i++) {
        const double before = level(&p, i - 1), after = level(&p, i);
        found[i - 1] = (struct pk_change_point){.at = p.starts[i],
                                                .until = p.starts[i + 1],
                                                .before = before,
                                                .after = after,
                                                .change = before > 0 && after > 0 ? after / before - 1 : NAN,
                                                .p = exact ? NAN : doubt(&p, i, &r, 0)};
    }
    *change_points = found;
    return p.n - 1;
}

double pk_find_trend(const double *v, size_t n, double min_effect)
{
    enum { FEWEST = 8 };
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    if (n < FEWEST || !(pk_mann_kendall(v, n).p < 0.01))
        return 0;
    double *x = pk_new_n(&a, double, n), *sorted = pk_new_n(&a, double, n);
    for (size_t i = 0; i < n; i++)
        x[i] = (double)i;
    memcpy(sorted, v, n * sizeof *v);
    double trend = pk_theil_sen(x, v, n, 0.95).slope * (double)(n - 1) / fabs(pk_median_of(sorted, n));
    return isfinite(trend) && fabs(trend) >= min_effect ? trend : 0;
}
