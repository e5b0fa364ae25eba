/* Student: the t distribution, through the incomplete beta function.
 *
 * P(|T| > t) = I_{df/(df+t^2)}(df/2, 1/2); quantiles by safeguarded Newton steps on it. */
#include "stats/dist/dist.h"

#include "base/err.h"

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

static double density(double t, double df, double log_beta)
{
    return exp(-0.5 * (df + 1) * log1p(t * t / df) - log_beta - 0.5 * log(df));
}

/* How far t is beyond the point with P(|T| > t) = alpha, in probability; taken on the smaller side, which is
 * exact there. */
static double excess(double t, double df, double alpha)
{
    double inside, out = outside(t, df, &inside);
    return alpha < 0.5 ? alpha - out : inside - (1 - alpha);
}

/* Near the point with P(T > t) = tail: Cornish and Fisher's expansion from the normal, Abramowitz and Stegun 26.7.5. */
static double first_guess(double tail, double df)
{
    double z = -pk_normal_quantile(tail), z2 = z * z, r = 1 / df;
    return z * (1 + r * ((z2 + 1) / 4 + r * (((5 * z2 + 16) * z2 + 3) / 96)));
}

double pk_t_quantile(double p, double df)
{
    static const double close = 1e-7; /* Halley's method then leaves its cube */
    pk_assert(p > 0 && p < 1 && df > 0);
    if (p == 0.5)
        return 0;
    double tail = p < 0.5 ? p : 1 - p, lo = 0, hi = INFINITY, t = first_guess(tail, df);
    const double log_beta = pk_log_beta(df / 2, 0.5);
    for (int i = 0; i < 200; i++) {
        double e = excess(t, df, 2 * tail);
        *(e > 0 ? &hi : &lo) = t;
        double step = e / (2 * density(t, df, log_beta));
        double next = t - step / (1 + 0.5 * step * (df + 1) * t / (df + t * t));
        if (!(next > lo && next < hi))
            next = isinf(hi) ? 2 * t : (lo + hi) / 2;
        else if (fabs(next - t) <= close * t) {
            t = next;
            break;
        }
        t = next;
    }
    return p < 0.5 ? -t : t;
}
