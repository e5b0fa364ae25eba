/* Trend: Theil and Sen's slope, Mann and Kendall's test. */
#include "stats/trend.h"

#include "base/arena.h"
#include "stats/dist/dist.h"
#include "stats/parts.h"

#include <math.h>
#include <string.h>

/* Sum over groups of t equal values of t(t-1)(2t+5). */
static double tie_term(const double *v, size_t n, double *scratch)
{
    memcpy(scratch, v, n * sizeof *v);
    pk_sort(scratch, n);
    double sum = 0, t = 1;
    for (size_t i = 1; i <= n; i++, t++) {
        if (i < n && scratch[i] == scratch[i - 1])
            continue;
        sum += t * (t - 1) * (2 * t + 5);
        t = 0;
    }
    return sum;
}

/* Variance of Kendall's s. */
static double kendall_variance(size_t n, double ties)
{
    double count = (double)n;
    return (count * (count - 1) * (2 * count + 5) - ties) / 18;
}

static double median_of_copy(const double *v, size_t n, double *scratch)
{
    memcpy(scratch, v, n * sizeof *v);
    return pk_median_of(scratch, n);
}

/* The slopes whose ranks Sen gives; slopes are sorted. */
static struct pk_interval sen_interval(const double *slopes, size_t n, double sd, double level)
{
    double z = pk_normal_quantile(0.5 + level / 2), count = (double)n;
    double lo = fmax(nearbyint((count - z * sd) / 2) - 1, 0),
           hi = fmin(nearbyint((count + z * sd) / 2), count - 1);
    return (struct pk_interval){slopes[(size_t)lo], slopes[(size_t)hi]};
}

struct pk_trend pk_theil_sen(const double *x, const double *y, size_t n, double level)
{
    struct pk_trend t = {NAN, NAN, {NAN, NAN}};
    if (n < 2)
        return t;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    double *slopes = pk_new_n(&a, double, n *(n - 1) / 2), *scratch = pk_new_n(&a, double, n);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            if (x[i] != x[j])
                slopes[m++] = (y[j] - y[i]) / (x[j] - x[i]);
        }
    }
    if (!m)
        return t;
    t.slope = pk_median_of(slopes, m);
    t.intercept = median_of_copy(y, n, scratch) - t.slope * median_of_copy(x, n, scratch);
    double variance = kendall_variance(n, tie_term(x, n, scratch) + tie_term(y, n, scratch));
    if (variance > 0)
        t.ci = sen_interval(slopes, m, sqrt(variance), level);
    return t;
}

struct pk_kendall pk_mann_kendall(const double *v, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    double s = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++)
            s += (v[j] > v[i]) - (v[j] < v[i]);
    }
    if (s == 0)
        return (struct pk_kendall){0, 0, 1};
    double variance = kendall_variance(n, tie_term(v, n, pk_new_n(&a, double, n)));
    double z = (s > 0 ? s - 1 : s + 1) / sqrt(variance);
    return (struct pk_kendall){s, z, erfc(fabs(z) / sqrt(2))};
}
