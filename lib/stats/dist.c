/* Dist: the normal distribution, and what follows from the regularised incomplete beta function: Student's t, the binomial, Fisher's test.
 *
 * The beta function is the continued fraction of Abramowitz and Stegun 26.5.8, evaluated as Lentz (1976) does. P(|T| > t) =
 * I_{df/(df+t^2)}(df/2, 1/2); quantiles by safeguarded Newton steps on it. */
#include "stats/dist.h"

#include "base/err.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

/* --- the standard normal distribution --- */

static const double sqrt_half = 0.70710678118654752440;

double pk_normal_below(double z)
{
    return 0.5 * erfc(-z * sqrt_half);
}

/* z with P(Z > z) = tail < 1/2: Abramowitz and Stegun 26.2.23, polished by Halley's method. */
static double upper_quantile(double tail)
{
    double u = sqrt(-2 * log(tail));
    double z =
        u - (2.515517 + u * (0.802853 + u * 0.010328)) / (1 + u * (1.432788 + u * (0.189269 + u * 0.001308)));
    for (int i = 0; i < 2; i++) {
        double density = exp(-0.5 * z * z) * 0.39894228040143267794;
        double off = tail > 0.2 ? (0.5 - tail) - 0.5 * erf(z * sqrt_half) : 0.5 * erfc(z * sqrt_half) - tail;
        double step = off / density;
        z += step / (1 - 0.5 * z * step);
    }
    return z;
}

double pk_normal_quantile(double p)
{
    pk_assert(p > 0 && p < 1);
    if (p == 0.5)
        return 0;
    return p < 0.5 ? -upper_quantile(p) : upper_quantile(1 - p);
}

/* --- the incomplete beta function --- */

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

/* ln Gamma(a) - ln Gamma(a + b) for the larger a: where it is large, from Stirling's formula, because lgamma would cancel. */
double pk_log_beta(double a, double b)
{
    if (a < b)
        return pk_log_beta(b, a);
    double ratio =
        a < 50 ? log_gamma(a) - log_gamma(a + b)
               : stirling_rest(a) - stirling_rest(a + b) + b - (a - 0.5) * log1p(b / a) - b * log(a + b);
    return ratio + log_gamma(b);
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

/* --- Student's t --- */

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

static double t_quantile(double p, double df)
{
    static const double close = 1e-7; /* Halley's method then leaves its cube */
    const double tail = p < 0.5 ? p : 1 - p, alpha = 2 * tail, log_beta = pk_log_beta(df / 2, 0.5);
    /* the first guess by Cornish and Fisher's expansion from the normal, Abramowitz and Stegun 26.7.5 */
    const double z = -pk_normal_quantile(tail), z2 = z * z, r = 1 / df, g1 = (z2 + 1) / 4,
                 g2 = ((5 * z2 + 16) * z2 + 3) / 96, g3 = (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384,
                 g4 = ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
    double lo = 0, hi = INFINITY, t = z * (1 + r * (g1 + r * (g2 + r * (g3 + r * g4))));
    for (int i = 0; i < 200; i++) {
        double inside, out = outside(t, df, &inside);
        /* how far t is beyond, in probability: taken on the smaller side, which is exact there */
        double e = alpha < 0.5 ? alpha - out : inside - (1 - alpha);
        *(e > 0 ? &hi : &lo) = t;
        double density = exp(-0.5 * (df + 1) * log1p(t * t / df) - log_beta - 0.5 * log(df));
        double step = e / (2 * density);
        double next = t - step / (1 + 0.5 * step * (df + 1) * t / (df + t * t));
        const bool found =
            fabs(next - t) <= close * t; /* before the bounds, of which t is one now: the step may be 0 */
        if (!found && !(next > lo && next < hi))
            next = isinf(hi) ? 2 * t : (lo + hi) / 2;
        t = next;
        if (found)
            break;
    }
    return p < 0.5 ? -t : t;
}

/* Decisions of many cases ask for a few quantiles, each of them thousands of times: those asked for last are kept. */
double pk_t_quantile(double p, double df)
{
    enum { KEPT = 256 };
    static _Thread_local struct {
        double p, df, t;
    } kept[KEPT];
    pk_assert(p > 0 && p < 1 && df > 0);
    if (p == 0.5)
        return 0;
    uint64_t bits[2];
    memcpy(&bits[0], &p, sizeof p);
    memcpy(&bits[1], &df, sizeof df);
    const size_t at = pk_rng_mix(bits[0] ^ pk_rng_mix(bits[1])) % KEPT;
    if (kept[at].p != p || kept[at].df != df) {
        kept[at].p = p, kept[at].df = df;
        kept[at].t = t_quantile(p, df);
    }
    return kept[at].t;
}

/* --- Fisher's test, from the hypergeometric distribution --- */

/* ln of n over k, through the beta function: no cancellation of large factorials. */
static double log_choose(double n, double k)
{
    return k == 0 || k == n ? 0 : -log(n + 1) - pk_log_beta(n - k + 1, k + 1);
}

double pk_fisher_above(size_t a, size_t b, size_t c, size_t d)
{
    const double row = (double)(a + b), other = (double)(c + d), column = (double)(a + c);
    const double total = log_choose(row + other, column), most = column < row ? column : row;
    double p = 0;
    for (double k = (double)a; k <= most; k++)
        p += exp(log_choose(row, k) + log_choose(other, column - k) - total);
    return a && p < 1 ? p : 1;
}
