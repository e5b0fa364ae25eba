/* Rng: a small, seedable random generator (splitmix64: Steele, Lea, Flood 2014) for shuffles and test data.
 * Equal seeds give equal sequences on every machine; not for secrets. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pk_rng {
    uint64_t state;
};

/* The finaliser of splitmix64: every bit of x changes every bit of the result. */
static inline uint64_t pk_rng_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t pk_rng_next(struct pk_rng *r);
uint64_t pk_rng_below(struct pk_rng *r, uint64_t n);        /* 0 .. n-1 without bias; n > 0 */
double pk_rng_uniform(struct pk_rng *r);                    /* [0, 1) */
double pk_rng_normal(struct pk_rng *r);                     /* mean 0, sd 1 (Box-Muller) */
void pk_rng_shuffle(struct pk_rng *r, size_t *v, size_t n); /* Fisher-Yates, in place */
