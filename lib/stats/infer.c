/* Infer: t tests of one and two means, equivalence, an interval for those who keep looking; Holm's adjustment; power of the paired t test. */
#include "stats/infer.h"

#include "base/arena.h"
#include "base/err.h"
#include "stats/dist.h"

#include <math.h>

struct pk_mean_test pk_test_estimate(double estimate, double se, double df, double level)
{
    struct pk_mean_test r = {estimate, se, df, NAN, NAN, {NAN, NAN}};
    if (isnan(estimate) || isnan(se) || isnan(df))
        return r;
    double half = se > 0 ? pk_t_quantile(0.5 + level / 2, df) * se : 0;
    r.ci = (struct pk_interval){estimate - half, estimate + half};
    r.t = estimate == 0 ? 0 : estimate / se;
    r.p = pk_t_two_sided(r.t, df);
    return r;
}

struct pk_mean_test pk_test_mean(const double *v, size_t n, double level)
{
    struct pk_moments m = pk_moments(v, n);
    return pk_test_estimate(m.mean, sqrt(m.variance / (double)n), n < 2 ? NAN : (double)(n - 1), level);
}

struct pk_mean_test pk_test_welch(const double *a, size_t na, const double *b, size_t nb, double level)
{
    struct pk_moments ma = pk_moments(a, na), mb = pk_moments(b, nb);
    double va = ma.variance / (double)na, vb = mb.variance / (double)nb, v = va + vb;
    return pk_test_estimate(mb.mean - ma.mean, sqrt(v), pk_welch_df(va, na, vb, nb), level);
}

double pk_test_above(const struct pk_mean_test *t, double null)
{
    double off = t->estimate - null;
    if (t->se == 0)
        return !(off > 0);
    return pk_t_above(off / t->se, t->df);
}

double pk_test_within(const struct pk_mean_test *t, double lo, double hi)
{
    const struct pk_mean_test mirrored = {-t->estimate, t->se, t->df, NAN, NAN, {NAN, NAN}};
    return fmax(pk_test_above(t, lo), pk_test_above(&mirrored, -hi));
}

struct pk_interval pk_anytime_interval(const double *v, size_t n, double level)
{
    if (n < 2)
        return (struct pk_interval){NAN, NAN};
    struct pk_moments m = pk_moments(v, n);
    double count = (double)n, alpha = 1 - level, prior = 1;
    double q = pow(alpha * alpha * prior / (count + prior), 1 / count), k = (1 - q) * (count + prior);
    double half = count > k ? sqrt(m.variance * (count - 1) / count * k / (count - k)) : INFINITY;
    return (struct pk_interval){m.mean - half, m.mean + half};
}

void pk_adjust_holm(const double *p, size_t n, double *out)
{
    PK_ARENA_CLEANUP struct pk_arena arena = {0};
    struct pk_indexed_value *sorted = pk_new_n(&arena, struct pk_indexed_value, n + 1);
    size_t m = pk_sort_indexed(p, n, sorted);
    double most = 0;
    for (size_t i = 0; i < n; i++)
        out[i] = p[i];
    for (size_t i = 0; i < m; i++) {
        most = fmax(most, fmin(1, (double)(m - i) * sorted[i].v));
        out[sorted[i].at] = most;
    }
}

/* Half-width of two quantiles together, over n pairs. */
static double half_width(size_t n, double sd, double p, double q)
{
    double df = (double)(n - 1);
    return (pk_t_quantile(p, df) + pk_t_quantile(q, df)) * sd / sqrt((double)n);
}

double pk_effect_found(size_t n, double sd, double alpha, double power)
{
    pk_assert(n >= 2);
    return half_width(n, sd, 1 - alpha / 2, power);
}

/* The fewest n with reach(n) <= room, which falls with n. */
static size_t fewest(double sd, double room, double p, double q)
{
    enum { FEWEST = 3, MOST = 10000000 };
    if (!(room > 0) || !(half_width(MOST, sd, p, q) <= room))
        return PK_PAIRS_NEVER;
    double zp = pk_normal_quantile(p), zq = pk_normal_quantile(q), z = zp + zq,
           normal = z * z * (sd / room) * (sd / room);
    size_t lo = normal > FEWEST ? (size_t)normal - 1 : FEWEST - 1; /* too few: t is wider */
    /* by how much, the first term of Cornish and Fisher's expansion says nearly */
    const double wider = (zp * (zp * zp + 1) + zq * (zq * zq + 1)) / (2 * z);
    size_t hi = (size_t)fmax(normal + wider, (double)lo) + 1;
    if (hi - lo > 2 && half_width(hi - 1, sd, p, q) > room)
        lo = hi - 1;
    for (size_t step = 1; half_width(hi, sd, p, q) > room; step *= 2) {
        lo = hi;
        hi += step;
    }
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        *(half_width(mid, sd, p, q) > room ? &lo : &hi) = mid;
    }
    return hi;
}

size_t pk_pairs_to_detect(double sd, double effect, double alpha, double power)
{
    return fewest(sd, fabs(effect), 1 - alpha / 2, power);
}

size_t pk_pairs_to_prove(double sd, double margin, double alpha, double power)
{
    return fewest(sd, margin, 1 - alpha, 0.5 + power / 2);
}
