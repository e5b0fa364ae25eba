/* Changes: an optimal segmentation by PELT. */
#include "stats/changes.h"

#include "base/arena.h"
#include "base/err.h"
#include "stats/parts.h"

#include <math.h>
#include <string.h>

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

struct search {
    double *best;         /* cost of the first t values */
    size_t *from;         /* where their last piece starts */
    size_t *open, n_open; /* starts that may still be best for some end */
    size_t *until;        /* the first end for which a start is known to be dominated */
};

/* Finds the best last piece of the first t values, and drops the starts that will never be best again. */
static void extend(struct search *f, const struct sums *s, size_t t, size_t least, double penalty)
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

/* Sums of v less its median, from which no piece is far: sums of squares would cancel otherwise. */
static struct sums add_up(const double *v, size_t n, struct pk_arena *a)
{
    double *sums = pk_new_n(a, double, n + 1), *squares = pk_new_n(a, double, n + 1),
           *sorted = pk_new_n(a, double, n);
    memcpy(sorted, v, n * sizeof *v);
    double median = pk_median_of(sorted, n);
    for (size_t i = 0; i < n; i++) {
        sums[i + 1] = sums[i] + (v[i] - median);
        squares[i + 1] = squares[i] + (v[i] - median) * (v[i] - median);
    }
    double variance = (squares[n] - sums[n] * sums[n] / (double)n) / (double)n;
    return (struct sums){sums, squares, 1e-6 * variance};
}

size_t pk_find_changes(const double *v, size_t n, double penalty, size_t least, size_t *starts)
{
    pk_assert(least >= 2);
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    if (!n)
        return 0;
    const struct sums s = add_up(v, n, &a);
    starts[0] = 0;
    if (n < 2 * least || !(s.floor > 0))
        return 1;
    struct search f = {pk_new_n(&a, double, n + 1), pk_new_n(&a, size_t, n + 1), pk_new_n(&a, size_t, n + 1),
                       0, pk_new_n(&a, size_t, n + 1)};
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
