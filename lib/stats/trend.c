/* Trend: Theil and Sen's slope, Mann and Kendall's test, and an optimal segmentation by PELT. */
#include "stats/trend.h"

#include "base/arena.h"
#include "base/err.h"
#include "stats/dist.h"

#include <math.h>
#include <string.h>

/* Sum over groups of t equal values of t(t-1)(2t+5). */
static double tie_term(const double *v, size_t n, double *scratch)
{
    memcpy(scratch, v, n * sizeof *v);
    pk_sort(scratch, n);
    double sum = 0, t = 1;
    for (size_t i = 1; i <= n; i++, t++) {
        if (i < n && scratch[i] == scratch[i - 1])
            continue;
        sum += t * (t - 1) * (2 * t + 5);
        t = 0;
    }
    return sum;
}

/* Variance of Kendall's s. */
static double kendall_variance(size_t n, double ties)
{
    double count = (double)n;
    return (count * (count - 1) * (2 * count + 5) - ties) / 18;
}

struct pk_trend pk_theil_sen(const double *x, const double *y, size_t n, double level)
{
    struct pk_trend t = {NAN, NAN, {NAN, NAN}};
    if (n < 2)
        return t;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    double *slopes = pk_new_n(&a, double, n *(n - 1) / 2), *scratch = pk_new_n(&a, double, n);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            if (x[i] != x[j])
                slopes[m++] = (y[j] - y[i]) / (x[j] - x[i]);
        }
    }
    if (!m)
        return t;
    t.slope = pk_median_of(slopes, m);
    t.intercept = pk_median_copy(y, n, scratch) - t.slope * pk_median_copy(x, n, scratch);
    double variance = kendall_variance(n, tie_term(x, n, scratch) + tie_term(y, n, scratch));
    if (variance > 0) { /* the slopes whose ranks Sen gives; slopes are sorted */
        const double off = pk_normal_quantile(0.5 + level / 2) * sqrt(variance), count = (double)m;
        t.ci.lo = slopes[(size_t)fmax(nearbyint((count - off) / 2) - 1, 0)];
        t.ci.hi = slopes[(size_t)fmin(nearbyint((count + off) / 2), count - 1)];
    }
    return t;
}

struct pk_kendall pk_mann_kendall(const double *v, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    double s = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++)
            s += (v[j] > v[i]) - (v[j] < v[i]);
    }
    if (s == 0)
        return (struct pk_kendall){0, 0, 1};
    double variance = kendall_variance(n, tie_term(v, n, pk_new_n(&a, double, n)));
    double z = (s > 0 ? s - 1 : s + 1) / sqrt(variance);
    return (struct pk_kendall){s, z, erfc(fabs(z) / sqrt(2))};
}

struct sums {
    const double *v, *squares; /* of the first i values, less the median of all */
    double floor;              /* the least variance granted */
};

/* -2 ln likelihood of v[from..to) under its best normal, constants left out. */
static double cost(const struct sums *s, size_t from, size_t to)
{
    double m = (double)(to - from), sum = s->v[to] - s->v[from];
    double spread = fmax(s->squares[to] - s->squares[from] - sum * sum / m, 0);
    double variance = fmax(spread / m, s->floor);
    return m * log(variance) + spread / variance;
}

struct piece_search {
    double *best;         /* cost of the first t values */
    size_t *from;         /* where their last piece starts */
    size_t *open, n_open; /* starts that may still be best for some end */
    size_t *until;        /* the first end for which a start is known to be dominated */
};

/* Finds the best last piece of the first t values, and drops the starts that will never be best again. */
static void extend(struct piece_search *f, const struct sums *s, size_t t, size_t least, double penalty)
{
    size_t kept = 0;
    f->best[t] = INFINITY;
    for (size_t i = 0; i < f->n_open; i++) {
        size_t start = f->open[i];
        if (t >= f->until[start])
            continue;
        f->open[kept++] = start;
        if (t - start < least)
            continue;
        double c = f->best[start] + cost(s, start, t) + penalty;
        if (c < f->best[t]) {
            f->best[t] = c;
            f->from[t] = start;
        }
    }
    f->n_open = kept;
    for (size_t i = 0; i < kept; i++) { /* dominated by a change at t, once a piece fits after it */
        size_t start = f->open[i];
        if (t - start >= least && f->best[start] + cost(s, start, t) >= f->best[t] &&
            f->until[start] > t + least)
            f->until[start] = t + least;
    }
}

size_t pk_find_changes(const double *v, size_t n, double penalty, size_t least, size_t *starts)
{
    pk_assert(least >= 2);
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    if (!n)
        return 0;
    double *sums = pk_new_n(&a, double, n + 1), *squares = pk_new_n(&a, double, n + 1);
    /* less the median, from which no piece is far: sums of squares would cancel otherwise */
    const double median = pk_median_copy(v, n, pk_new_n(&a, double, n));
    for (size_t i = 0; i < n; i++) {
        sums[i + 1] = sums[i] + (v[i] - median);
        squares[i + 1] = squares[i] + (v[i] - median) * (v[i] - median);
    }
    const double variance = (squares[n] - sums[n] * sums[n] / (double)n) / (double)n;
    const struct sums s = {sums, squares, 1e-6 * variance};
    starts[0] = 0;
    if (n < 2 * least || !(s.floor > 0))
        return 1;
    struct piece_search f = {pk_new_n(&a, double, n + 1), pk_new_n(&a, size_t, n + 1),
                             pk_new_n(&a, size_t, n + 1), 0, pk_new_n(&a, size_t, n + 1)};
    for (size_t t = 0; t <= n; t++)
        f.until[t] = SIZE_MAX;
    f.best[0] = -penalty;
    f.open[f.n_open++] = 0;
    for (size_t t = least; t <= n; t++) {
        extend(&f, &s, t, least, penalty);
        f.open[f.n_open++] = t;
    }
    size_t pieces = 0;
    for (size_t t = n; t > 0; t = f.from[t])
        pieces++;
    for (size_t t = n, i = pieces; t > 0; t = f.from[t])
        starts[--i] = f.from[t];
    return pieces;
}
