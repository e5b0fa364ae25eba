/* Normal: the standard normal distribution. */
#include "stats/dist/dist.h"

#include "base/err.h"

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
