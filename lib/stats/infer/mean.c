/* Mean: t tests of one and two means, equivalence, and an interval for those who keep looking. */
#include "stats/infer/mean.h"

#include "stats/dist/dist.h"
#include "stats/parts.h"

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
