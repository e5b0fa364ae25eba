/* Normal: the standard normal distribution, and Student's when its centre is moved. */
#include "stats/dist/dist.h"

#include "base/assert.h"

#include <math.h>

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
    for (int i = 0; i < 3; i++) {
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

/* One of the two sums of AS 243: sum over j of w_j I_x(j + first, b), where w_j = lambda^j exp(-lambda) / Gamma(j + weight).
 * From the far end of the weights downwards, because I_x(a, b) = I_x(a + 1, b) + x^a y^b / (a B(a, b)) only adds. */
static double poisson_beta_sum(double x, double y, double b, double lambda, double first, double weight)
{
    double reach = 9 * sqrt(lambda) + 40;
    long last = (long)(lambda + reach), least = lambda > reach ? (long)(lambda - reach) : 0;
    double rest, sum = 0, value = pk_beta_inc(x, y, (double)last + first, b, &rest);
    for (long j = last; j >= least; j--) {
        int sign;
        double a =
            (double)j - 1 + first; /* each term anew: products of ratios underflow for small x and lambda */
        sum += value * exp((double)j * log(lambda) - lambda - lgamma_r((double)j + weight, &sign));
        value += a > 0 ? exp(a * log(x) + b * log(y) - log(a) - pk_log_beta(a, b)) : 0;
    }
    return sum;
}

double pk_t_noncentral_below(double t, double df, double nc)
{
    if (isnan(t) || isnan(df) || isnan(nc))
        return NAN;
    if (fabs(nc) < 1e-15 || isinf(t))
        return pk_t_above(-t, df);
    if (t < 0)
        return 1 - pk_t_noncentral_below(-t, df, -nc);
    double below = pk_normal_below(-nc), sum = df + t * t, lambda = 0.5 * nc * nc;
    if (t == 0)
        return below;
    double x = t * t / sum, y = df / sum, b = df / 2;
    double even = poisson_beta_sum(x, y, b, lambda, 0.5, 1);
    double odd = nc * sqrt_half * poisson_beta_sum(x, y, b, lambda, 1, 1.5);
    double p = below + 0.5 * (even + odd);
    return p < 0 ? 0 : p > 1 ? 1 : p;
}
