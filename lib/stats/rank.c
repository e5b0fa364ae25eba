/* Rank: Mann-Whitney, exact or nearly normal; mid-ranks, and the exact distributions of their sums by dynamic programming. */
#include "stats/rank.h"

#include "base/arena.h"
#include "stats/dist.h"

#include <math.h>

/* Mid-ranks of values, by their places and ascending; where there are ties, twice as large, so that all are whole. */
struct ranks {
    size_t *of, *ascending;
    size_t twice; /* 2 where there are ties, or 1 */
    double ties;  /* the sum over groups of t equal values of t^3 - t */
};

static struct ranks ranks_of(const double *v, size_t n, struct pk_arena *a)
{
    struct pk_indexed_value *sorted = pk_new_n(a, struct pk_indexed_value, n + 1);
    struct ranks r = {pk_new_n(a, size_t, n + 1), pk_new_n(a, size_t, n + 1), 1, 0};
    pk_assert(pk_sort_indexed(v, n, sorted) == n); /* no NaN: a caller's bug */
    for (size_t i = 1; i < n; i++)
        if (sorted[i].v == sorted[i - 1].v)
            r.twice = 2;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && sorted[end].v == sorted[i].v;)
            end++;
        double t = (double)(end - i);
        r.ties += t * t * t - t;
        for (size_t j = i; j < end; j++)
            r.of[sorted[j].at] = r.ascending[j] =
                r.twice * (i + end + 1) / 2; /* ranks i+1 .. end, their mean */
    }
    return r;
}

/* Probability of each sum, 0 .. *last, of the chosen among ranks[0..n), which ascend: every choice of `choose` equally likely. */
static double *rank_sums(const size_t *ranks, size_t n, size_t choose, struct pk_arena *a, size_t *last)
{
    size_t *first = pk_new_n(a, size_t, n + 1); /* first[k]: the sum of the first k ranks */
    for (size_t i = 0; i < n; i++)
        first[i + 1] = first[i] + ranks[i];
    const size_t total = first[n], width = total + 1;
    double *counts = pk_new_n(a, double, (choose + 1) * width), ways = 0;
    counts[0] = 1;
    /* counts[k * width + s]: ways to have k of the ranks so far sum to s, from that of the smallest k to that of the largest; of so few that
     * the ranks left do not make them `choose`, nothing is read any more */
    for (size_t i = 0; i < n; i++) {
        const size_t left = n - 1 - i, least = choose > left ? choose - left : 1;
        for (size_t k = i + 1 < choose ? i + 1 : choose; k >= least; k--) {
            const double *of = counts + (k - 1) * width;
            double *to = counts + k * width + ranks[i];
            for (size_t s = first[k - 1]; s <= first[i] - first[i + 1 - k]; s++)
                to[s] += of[s];
        }
    }
    double *p = counts + choose * width;
    for (size_t s = 0; s <= total; s++)
        ways += p[s];
    for (size_t s = 0; s <= total; s++)
        p[s] /= ways;
    *last = total;
    return p;
}

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

struct pk_rank_test pk_mann_whitney(const double *a, size_t na, const double *b, size_t nb)
{
    if (!na || !nb)
        return (struct pk_rank_test){NAN, NAN, NAN, NAN, false};
    PK_ARENA_CLEANUP struct pk_arena arena = {0};
    size_t n = na + nb, sum = 0, last;
    double *both = pk_new_n(&arena, double, n), x = (double)na, y = (double)nb;
    for (size_t i = 0; i < n; i++)
        both[i] = i < nb ? b[i] : a[i - nb];
    const struct ranks ranks = ranks_of(both, n, &arena);
    for (size_t i = 0; i < nb; i++)
        sum += ranks.of[i];
    struct pk_rank_test r = {.statistic = (double)sum / (double)ranks.twice - y * (y + 1) / 2,
                             .exact = n <= PK_RANK_EXACT};
    if (r.exact) {
        const double *p = rank_sums(ranks.ascending, n, nb, &arena, &last);
        place_exactly(&r, p, last, sum, ranks.twice * nb * (n + 1));
    } else {
        const double total = x + y, off = r.statistic - x * y / 2;
        const double sd = sqrt(x * y / 12 * (total + 1 - ranks.ties / (total * (total - 1))));
        r.p_less = sd > 0 ? pk_normal_below((off + 0.5) / sd) : 1; /* steps are taken to be 1 */
        r.p_greater = sd > 0 ? pk_normal_below((0.5 - off) / sd) : 1;
        r.p = fmin(1, 2 * fmin(r.p_less, r.p_greater));
    }
    return r;
}
