/* Rng: splitmix64 and what is drawn from it. */
#include "base/rng.h"

#include <math.h>

uint64_t pk_rng_next(struct pk_rng *r)
{
    return pk_rng_mix(r->state += 0x9e3779b97f4a7c15u);
}

uint64_t pk_rng_below(struct pk_rng *r, uint64_t n)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % n, x;
    do
        x = pk_rng_next(r);
    while (x >= limit);
    return x % n;
}

double pk_rng_uniform(struct pk_rng *r)
{
    return (double)(pk_rng_next(r) >> 11) * 0x1p-53;
}

double pk_rng_normal(struct pk_rng *r)
{
    double u = 1.0 - pk_rng_uniform(r), v = pk_rng_uniform(r);
    return sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * v);
}

void pk_rng_shuffle(struct pk_rng *r, size_t *v, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)pk_rng_below(r, i), t = v[i - 1];
        v[i - 1] = v[j];
        v[j] = t;
    }
}
