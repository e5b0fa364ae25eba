/* Adjust: p values of many questions asked at once, by Holm. */
#include "stats/infer/adjust.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>

struct place {
    double p;
    size_t at;
};

static int by_p(const void *a, const void *b)
{
    double x = ((const struct place *)a)->p, y = ((const struct place *)b)->p;
    return (x > y) - (x < y);
}

/* The answered p in ascending order; returns how many. */
static size_t sort_answered(const double *p, size_t n, struct place *sorted)
{
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isnan(p[i]))
            sorted[m++] = (struct place){p[i], i};
    }
    qsort(sorted, m, sizeof *sorted, by_p);
    return m;
}

void pk_adjust_holm(const double *p, size_t n, double *out)
{
    PK_ARENA_CLEANUP struct pk_arena arena = {0};
    struct place *sorted = pk_new_n(&arena, struct place, n + 1);
    size_t m = sort_answered(p, n, sorted);
    double most = 0;
    for (size_t i = 0; i < n; i++)
        out[i] = p[i];
    for (size_t i = 0; i < m; i++) {
        most = fmax(most, fmin(1, (double)(m - i) * sorted[i].p));
        out[sorted[i].at] = most;
    }
}
