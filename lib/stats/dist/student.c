/* Student: the t distribution, through the incomplete beta function.
 *
 * P(|T| > t) = I_{df/(df+t^2)}(df/2, 1/2); quantiles by safeguarded Newton steps on it. */
#include "stats/dist/dist.h"

#include "base/assert.h"

#include <math.h>

/* P(|T| > t) for t >= 0; *inside = P(|T| < t). */
static double outside(double t, double df, double *inside)
{
    if (t * t > 1e300) { /* x^a underflows or t is infinite; the tail is (df/t^2)^(df/2) times a constant */
        *inside = 1;
        return isinf(t) ? 0 : exp(0.5 * df * (log(df) - 2 * log(t)) - pk_log_beta(df / 2, 0.5) - log(df / 2));
    }
    double sum = df + t * t;
    return pk_beta_inc(df / sum, t * t / sum, df / 2, 0.5, inside);
}

double pk_t_two_sided(double t, double df)
{
    double inside;
    return isnan(t) || isnan(df) ? NAN : outside(fabs(t), df, &inside);
}

double pk_t_above(double t, double df)
{
    double half = pk_t_two_sided(t, df) / 2;
    return t < 0 ? 1 - half : half;
}

static double density(double t, double df)
{
    return exp(-0.5 * (df + 1) * log1p(t * t / df) - pk_log_beta(df / 2, 0.5) - 0.5 * log(df));
}

/* How far t is beyond the point with P(|T| > t) = alpha, in probability; taken on the smaller side, which is
 * exact there. */
static double excess(double t, double df, double alpha)
{
    double inside, out = outside(t, df, &inside);
    return alpha < 0.5 ? alpha - out : inside - (1 - alpha);
}

double pk_t_quantile(double p, double df)
{
    pk_assert(p > 0 && p < 1 && df > 0);
    if (p == 0.5)
        return 0;
    double alpha = 2 * (p < 0.5 ? p : 1 - p), lo = 0, hi = 1;
    while (excess(hi, df, alpha) < 0)
        hi *= 2;
    double t = hi / 2;
    for (int i = 0; i < 200; i++) {
        double e = excess(t, df, alpha);
        *(e > 0 ? &hi : &lo) = t;
        double next = t - e / (2 * density(t, df));
        if (!(next > lo && next < hi))
            next = (lo + hi) / 2;
        double step = fabs(next - t);
        t = next;
        if (step <= 1e-15 * t)
            break;
    }
    return p < 0.5 ? -t : t;
}
