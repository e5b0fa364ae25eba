/* Beta: the regularised incomplete beta function, by the continued fraction of Abramowitz and Stegun 26.5.8 evaluated
 * as Lentz (1976) does, and what is that function in disguise. */
#include "stats/dist/dist.h"

#include "base/err.h"

#include <math.h>

static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* What Stirling's formula leaves of ln Gamma(a); a >= 50. */
static double stirling_rest(double a)
{
    double r = 1 / (a * a);
    return (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r / 1680))) / a;
}

/* ln Gamma(a) - ln Gamma(a + b), a >= b. For large a it is taken from Stirling's formula, where lgamma would cancel. */
static double gamma_ratio(double a, double b)
{
    if (a < 50)
        return log_gamma(a) - log_gamma(a + b);
    return stirling_rest(a) - stirling_rest(a + b) + b - (a - 0.5) * log1p(b / a) - b * log(a + b);
}

double pk_log_beta(double a, double b)
{
    return a < b ? pk_log_beta(b, a) : gamma_ratio(a, b) + log_gamma(b);
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

static double log_of(double x, double y)
{
    return y < 0.5 ? log1p(-y) : log(x);
}

double pk_beta_inc(double x, double y, double a, double b, double *rest)
{
    pk_assert(a > 0 && b > 0);
    double front = exp(a * log_of(x, y) + b * log_of(y, x) - pk_log_beta(a, b));
    if (x < (a + 1) / (a + b + 2)) {
        double value = x > 0 ? front * continued_fraction(x, a, b) / a : 0;
        *rest = 1 - value;
        return value;
    }
    *rest = y > 0 ? front * continued_fraction(y, b, a) / b : 0;
    return 1 - *rest;
}

double pk_binomial_below(size_t k, size_t n, double p)
{
    pk_assert(p >= 0 && p <= 1);
    double above;
    return k >= n ? 1 : pk_beta_inc(1 - p, p, (double)(n - k), (double)k + 1, &above);
}
