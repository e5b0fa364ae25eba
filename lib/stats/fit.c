/* Fit: least squares lines, straight or on logs. */
#include "stats/stats.h"

#include "stats/dist.h"

#include <math.h>

static struct pk_interval around(double centre, double half)
{
    return (struct pk_interval){centre - half, centre + half};
}

struct pk_fit pk_fit_line(const double *x, const double *y, size_t n)
{
    struct pk_fit fit = {n, NAN, NAN, NAN, {NAN, NAN}, {NAN, NAN}};
    if (n < 2)
        return fit;
    double mx = pk_mean(x, n), my = pk_mean(y, n), sxx = 0, sxy = 0, syy = 0, residual = 0;
    for (size_t i = 0; i < n; i++) {
        sxx += (x[i] - mx) * (x[i] - mx);
        sxy += (x[i] - mx) * (y[i] - my);
        syy += (y[i] - my) * (y[i] - my);
    }
    if (!(sxx > 0))
        return fit;
    fit.slope = sxy / sxx;
    fit.intercept = my - fit.slope * mx;
    for (size_t i = 0; i < n; i++) {
        double off = y[i] - my - fit.slope * (x[i] - mx);
        residual += off * off;
    }
    fit.r2 = syy > 0 ? 1 - residual / syy : NAN;
    if (n < 3)
        return fit;
    double df = (double)(n - 2), variance = residual / df, t = pk_t_quantile(0.975, df);
    fit.slope_ci = around(fit.slope, t * sqrt(variance / sxx));
    fit.intercept_ci = around(fit.intercept, t * sqrt(variance * (1 / (double)n + mx * mx / sxx)));
    return fit;
}

struct pk_fit pk_fit_power(const double *x, const double *y, size_t n, double *scratch_2n)
{
    for (size_t i = 0; i < n; i++) {
        if (!(x[i] > 0 && y[i] > 0))
            return (struct pk_fit){n, NAN, NAN, NAN, {NAN, NAN}, {NAN, NAN}};
        scratch_2n[i] = log(x[i]);
        scratch_2n[n + i] = log(y[i]);
    }
    return pk_fit_line(scratch_2n, scratch_2n + n, n);
}
