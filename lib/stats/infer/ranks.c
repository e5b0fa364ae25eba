/* Ranks: mid-ranks and the exact distributions of their sums, by dynamic programming. */
#include "stats/infer/ranks.h"

#include <stdlib.h>
#include <string.h>

struct place {
    double value;
    size_t at;
};

static int by_value(const void *a, const void *b)
{
    double x = ((const struct place *)a)->value, y = ((const struct place *)b)->value;
    return (x > y) - (x < y);
}

size_t *pk_double_ranks(const double *v, size_t n, struct pk_arena *a, double *ties)
{
    struct place *sorted = pk_new_n(a, struct place, n + 1);
    size_t *ranks = pk_new_n(a, size_t, n + 1);
    for (size_t i = 0; i < n; i++)
        sorted[i] = (struct place){v[i], i};
    qsort(sorted, n, sizeof *sorted, by_value);
    *ties = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && sorted[end].value == sorted[i].value;)
            end++;
        double t = (double)(end - i);
        *ties += t * t * t - t;
        for (size_t j = i; j < end; j++)
            ranks[sorted[j].at] = i + end + 1; /* ranks i+1 .. end, their mean doubled */
    }
    return ranks;
}

/* Adds the rank number `seen`: counts[k * width + s] is the number of ways to have k of the ranks so far sum to s. */
static void add_rank(double *counts, size_t width, size_t choose, size_t seen, size_t rank)
{
    for (size_t k = seen < choose ? seen : choose; k > 0; k--) {
        for (size_t s = rank; s < width; s++)
            counts[k * width + s] += counts[(k - 1) * width + s - rank];
    }
}

double *pk_rank_sums(const size_t *ranks, size_t n, size_t choose, struct pk_arena *a, size_t *last)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += ranks[i];
    double *counts = pk_new_n(a, double, (choose + 1) * (total + 1)), ways = 0;
    counts[0] = 1;
    for (size_t i = 0; i < n; i++)
        add_rank(counts, total + 1, choose, i + 1, ranks[i]);
    double *p = counts + choose * (total + 1);
    for (size_t s = 0; s <= total; s++)
        ways += p[s];
    for (size_t s = 0; s <= total; s++)
        p[s] /= ways;
    *last = total;
    return p;
}
