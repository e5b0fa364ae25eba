/* Shift: Hodges-Lehmann estimates, with the intervals that rank tests give them. */
#include "stats/infer/rank.h"

#include "stats/dist/dist.h"
#include "stats/infer/ranks.h"
#include "stats/parts.h"

#include <math.h>

/* The rank k of the interval [k-th smallest, k-th largest], from the probabilities p of the statistic's values first,
 * first + 1, ...: the largest k with P(statistic < k) <= tail. 0 = none. *outside gets that probability. */
static size_t rank_of_tail(const double *p, size_t first, double tail, double *outside)
{
    size_t k = 0;
    double below = 0;
    for (; below + p[first + k] <= tail * (1 + 1e-12); k++)
        below += p[first + k];
    *outside = below;
    return k;
}

/* The same from the normal approximation. */
static size_t rank_nearly(double mean, double sd, double tail, double *outside)
{
    double k = floor(mean + sd * pk_normal_quantile(tail) + 0.5);
    *outside = k > 0 ? pk_normal_below((k - 0.5 - mean) / sd) : 0;
    return k > 0 ? (size_t)k : 0;
}

static struct pk_shift from_sorted(const double *v, size_t n, size_t k, double outside)
{
    struct pk_shift s = {pk_quantile(v, n, 0.5), {NAN, NAN}, NAN};
    if (!k)
        return s;
    s.ci = (struct pk_interval){v[k - 1], v[n - k]};
    s.achieved = 1 - 2 * outside;
    return s;
}

struct pk_shift pk_shift_paired(const double *d, size_t n, double level)
{
    if (!n)
        return (struct pk_shift){NAN, {NAN, NAN}, NAN};
    PK_ARENA_CLEANUP struct pk_arena arena = {0};
    size_t pairs = n * (n + 1) / 2, filled = 0, last, k;
    double *walsh = pk_new_n(&arena, double, pairs), outside, m = (double)n, tail = (1 - level) / 2;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i; j < n; j++)
            walsh[filled++] = d[i] + (d[j] - d[i]) / 2;
    }
    pk_sort(walsh, pairs);
    if (n <= PK_RANK_EXACT) {
        size_t ranks[PK_RANK_EXACT];
        for (size_t i = 0; i < n; i++)
            ranks[i] = i + 1;
        k = rank_of_tail(pk_rank_sums(ranks, n, n + 1, &arena, &last), 0, tail, &outside);
    } else {
        k = rank_nearly(m * (m + 1) / 4, sqrt(m * (m + 1) * (2 * m + 1) / 24), tail, &outside);
    }
    return from_sorted(walsh, pairs, k, outside);
}

struct pk_shift pk_shift_between(const double *a, size_t na, const double *b, size_t nb, double level)
{
    if (!na || !nb)
        return (struct pk_shift){NAN, {NAN, NAN}, NAN};
    PK_ARENA_CLEANUP struct pk_arena arena = {0};
    size_t pairs = na * nb, filled = 0, last, k;
    double *differences = pk_new_n(&arena, double, pairs), outside, x = (double)na, y = (double)nb;
    for (size_t i = 0; i < na; i++) {
        for (size_t j = 0; j < nb; j++)
            differences[filled++] = b[j] - a[i];
    }
    pk_sort(differences, pairs);
    if (na + nb <= PK_RANK_EXACT) {
        size_t ranks[PK_RANK_EXACT];
        for (size_t i = 0; i < na + nb; i++)
            ranks[i] = i + 1;
        k = rank_of_tail(pk_rank_sums(ranks, na + nb, nb, &arena, &last), nb * (nb + 1) / 2, (1 - level) / 2,
                         &outside);
    } else {
        k = rank_nearly(x * y / 2, sqrt(x * y * (x + y + 1) / 12), (1 - level) / 2, &outside);
    }
    return from_sorted(differences, pairs, k, outside);
}
