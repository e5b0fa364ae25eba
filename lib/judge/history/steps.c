/* Steps: pieces found, tested against each other, and merged until all are credible. */
#include "judge/history/steps.h"

#include "stats/rank.h"
#include "stats/stats.h"
#include "stats/trend.h"

#include <math.h>
#include <string.h>

static const double credible = 0.001;

struct step_pieces {
    const double *v;
    size_t *starts, n; /* starts[n] is the number of values */
    double *scratch;
};

static double level(const struct step_pieces *p, size_t i)
{
    size_t n = p->starts[i + 1] - p->starts[i];
    memcpy(p->scratch, p->v + p->starts[i], n * sizeof *p->v);
    return pk_median_of(p->scratch, n);
}

/* p of "pieces i - 1 and i are of one level"; 1 when they differ by less than is of interest. */
static double doubt(const struct step_pieces *p, size_t i, double min_effect)
{
    double before = level(p, i - 1), after = level(p, i);
    if (!(fabs(after - before) >= min_effect * fabs(before)))
        return 1;
    return pk_mann_whitney(p->v + p->starts[i - 1], p->starts[i] - p->starts[i - 1], p->v + p->starts[i],
                           p->starts[i + 1] - p->starts[i])
        .p;
}

static void merge(struct step_pieces *p, double min_effect)
{
    while (p->n > 1) {
        size_t worst = 0;
        double most = 0;
        for (size_t i = 1; i < p->n; i++) {
            double d = doubt(p, i, min_effect);
            if (d >= most) {
                most = d;
                worst = i;
            }
        }
        if (most < credible)
            return;
        memmove(&p->starts[worst], &p->starts[worst + 1], (p->n - worst) * sizeof *p->starts);
        p->n--;
    }
}

size_t pk_find_steps(const double *v, size_t n, double min_effect, bool exact, struct pk_arena *a,
                     const struct pk_step **steps)
{
    enum { LEAST = 3 };
    struct step_pieces p = {
        .v = v, .starts = pk_new_n(a, size_t, n + 2), .scratch = pk_new_n(a, double, n + 1)};
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
    struct pk_step *found = pk_new_n(a, struct pk_step, p.n);
    for (size_t i = 1; i < p.n; i++) {
        const double before = level(&p, i - 1), after = level(&p, i);
        found[i - 1] = (struct pk_step){.at = p.starts[i],
                                        .until = p.starts[i + 1],
                                        .before = before,
                                        .after = after,
                                        .change = before > 0 && after > 0 ? after / before - 1 : NAN,
                                        .p = exact ? NAN : doubt(&p, i, 0)};
    }
    *steps = found;
    return p.n - 1;
}

double pk_find_creep(const double *v, size_t n, double min_effect)
{
    enum { FEWEST = 8 };
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    if (n < FEWEST || !(pk_mann_kendall(v, n).p < 0.01))
        return 0;
    double *x = pk_new_n(&a, double, n), *sorted = pk_new_n(&a, double, n);
    for (size_t i = 0; i < n; i++)
        x[i] = (double)i;
    memcpy(sorted, v, n * sizeof *v);
    double creep = pk_theil_sen(x, v, n, 0.95).slope * (double)(n - 1) / fabs(pk_median_of(sorted, n));
    return isfinite(creep) && fabs(creep) >= min_effect ? creep : 0;
}
