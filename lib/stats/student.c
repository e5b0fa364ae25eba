/* Student: the t distribution, through the incomplete beta function with one parameter 1/2.
 *
 * P(|T| > t) = I_{df/(df+t^2)}(df/2, 1/2), by the continued fraction of Abramowitz and Stegun 26.5.8
 * evaluated as Lentz (1976) does; quantiles by safeguarded Newton steps on it. */
#include "stats/stats.h"

#include "base/assert.h"

#include <math.h>

/* ln B(a, 1/2). For large a the gamma functions' difference is taken from its series, where lgamma would
 * cancel. */
static double log_beta_half(double a)
{
    static const double half_log_pi = 0.57236494292470008707;
    double difference; /* ln Gamma(a + 1/2) - ln Gamma(a) */
    if (a < 50) {
        int sign;
        difference = lgamma_r(a + 0.5, &sign) - lgamma_r(a, &sign);
    } else {
        double r = 1 / (a * a);
        difference = 0.5 * log(a) - (1.0 / 8 - r * (1.0 / 192 - r * (1.0 / 640 - r * 17 / 14336))) / a;
    }
    return half_log_pi - difference;
}

static double away_from_zero(double x)
{
    static const double tiny = 1e-300;
    return fabs(x) < tiny ? tiny : x;
}

static double continued_fraction(double x, double a, double b)
{
    enum { MOST_TERMS = 10000 };
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), h = d;
    for (int m = 1; m < MOST_TERMS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        h *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        h *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return h;
}

/* I_x(a, 1/2) and, as *rest, 1 - I_x(a, 1/2), each without cancellation. y = 1 - x, given because x may be
 * near 1. */
static double beta_half(double x, double y, double a, double *rest)
{
    double log_x = y < 0.5 ? log1p(-y) : log(x);
    double front = exp(a * log_x + 0.5 * log(y) - log_beta_half(a));
    double value;
    if (x < (a + 1) / (a + 2.5)) {
        value = x > 0 ? front * continued_fraction(x, a, 0.5) / a : 0;
        *rest = 1 - value;
    } else {
        *rest = y > 0 ? front * continued_fraction(y, 0.5, a) / 0.5 : 0;
        value = 1 - *rest;
    }
    return value;
}

/* P(|T| > t) for t >= 0; *inside = P(|T| < t). */
static double outside(double t, double df, double *inside)
{
    if (t * t > 1e300) { /* x^a underflows or t is infinite; the tail is (df/t^2)^(df/2) times a constant */
        *inside = 1;
        return isinf(t) ? 0 : exp(0.5 * df * (log(df) - 2 * log(t)) - log_beta_half(df / 2) - log(df / 2));
    }
    double sum = df + t * t;
    return beta_half(df / sum, t * t / sum, df / 2, inside);
}

double pk_t_two_sided(double t, double df)
{
    double inside;
    return isnan(t) || isnan(df) ? NAN : outside(fabs(t), df, &inside);
}

static double density(double t, double df)
{
    return exp(-0.5 * (df + 1) * log1p(t * t / df) - log_beta_half(df / 2) - 0.5 * log(df));
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
