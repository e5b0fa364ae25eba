/* Rank test: Mann-Whitney, exact or nearly normal. */
#include "stats/infer/rank.h"

#include "stats/dist/dist.h"
#include "stats/infer/ranks.h"

#include <math.h>

/* Where `sum` lies in the exact distribution p[0..last], whose mean is half of twice_mean. With ties it need not be
 * symmetric: two-sided is at least as far from the mean. */
static void place_exactly(struct pk_rank_test *r, const double *p, size_t last, size_t sum, size_t twice_mean)
{
    double off = fabs(2 * (double)sum - (double)twice_mean);
    double below = 0, above = 0, far = 0;
    for (size_t s = 0; s <= last; s++) {
        below += s <= sum ? p[s] : 0;
        above += s >= sum ? p[s] : 0;
        far += fabs(2 * (double)s - (double)twice_mean) >= off ? p[s] : 0;
    }
    r->p_less = fmin(1, below);
    r->p_greater = fmin(1, above);
    r->p = fmin(1, far);
}

/* The same where the sum is nearly normal; off = how far it is above its mean. Steps are taken to be 1. */
static void place_nearly(struct pk_rank_test *r, double off, double variance)
{
    double sd = sqrt(variance);
    r->p_less = variance > 0 ? pk_normal_below((off + 0.5) / sd) : 1;
    r->p_greater = variance > 0 ? pk_normal_below((0.5 - off) / sd) : 1;
    r->p = fmin(1, 2 * fmin(r->p_less, r->p_greater));
}

struct pk_rank_test pk_mann_whitney(const double *a, size_t na, const double *b, size_t nb)
{
    if (!na || !nb)
        return (struct pk_rank_test){NAN, NAN, NAN, NAN, false};
    PK_ARENA_CLEANUP struct pk_arena arena = {0};
    size_t n = na + nb, sum = 0, last;
    double *both = pk_new_n(&arena, double, n), ties, x = (double)na, y = (double)nb;
    for (size_t i = 0; i < n; i++)
        both[i] = i < nb ? b[i] : a[i - nb];
    const size_t *ranks = pk_double_ranks(both, n, &arena, &ties);
    for (size_t i = 0; i < nb; i++)
        sum += ranks[i];
    struct pk_rank_test r = {.statistic = (double)sum / 2 - y * (y + 1) / 2, .exact = n <= PK_RANK_EXACT};
    if (r.exact) {
        const double *p = pk_rank_sums(ranks, n, nb, &arena, &last);
        place_exactly(&r, p, last, sum, 2 * nb * (n + 1));
    } else {
        double total = x + y;
        place_nearly(&r, r.statistic - x * y / 2, x * y / 12 * (total + 1 - ties / (total * (total - 1))));
    }
    return r;
}
