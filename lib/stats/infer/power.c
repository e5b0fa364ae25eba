/* Power: the smallest effect that the paired t test finds, and the pairs that it needs. */
#include "stats/infer/power.h"

#include "base/err.h"
#include "stats/dist/dist.h"

#include <math.h>

/* Half-width of two quantiles together, over n pairs. */
static double reach(size_t n, double sd, double p, double q)
{
    double df = (double)(n - 1);
    return (pk_t_quantile(p, df) + pk_t_quantile(q, df)) * sd / sqrt((double)n);
}

double pk_mde_quick(size_t n, double sd, double alpha, double power)
{
    pk_assert(n >= 2);
    return reach(n, sd, 1 - alpha / 2, power);
}

/* The fewest n with reach(n) <= room, which falls with n. */
static size_t fewest(double sd, double room, double p, double q)
{
    enum { FEWEST = 3, MOST = 10000000 };
    if (!(room > 0) || !(reach(MOST, sd, p, q) <= room))
        return PK_PAIRS_NEVER;
    double z = pk_normal_quantile(p) + pk_normal_quantile(q), normal = z * z * (sd / room) * (sd / room);
    size_t lo = normal > FEWEST ? (size_t)normal - 1 : FEWEST - 1; /* too few, t being wider, or not asked */
    size_t hi = lo + 1;
    for (size_t step = 1; reach(hi, sd, p, q) > room; step *= 2) {
        lo = hi;
        hi += step;
    }
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        *(reach(mid, sd, p, q) > room ? &lo : &hi) = mid;
    }
    return hi;
}

size_t pk_pairs_to_detect(double sd, double effect, double alpha, double power)
{
    return fewest(sd, fabs(effect), 1 - alpha / 2, power);
}

size_t pk_pairs_to_prove(double sd, double margin, double alpha, double power)
{
    return fewest(sd, margin, 1 - alpha, 0.5 + power / 2);
}
