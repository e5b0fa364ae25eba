/* Pairs: the order in which they run. */
#include "stats/verdict/verdict.h"

#include "base/rng.h"

void pk_pair_order(uint64_t seed, size_t n, bool *base_first)
{
    struct pk_rng r = {seed};
    bool first = false;
    for (size_t i = 0; i < n; i++) {
        if (i % 4 == 0)
            first = pk_rng_below(&r, 2);
        base_first[i] = i % 4 == 0 || i % 4 == 3 ? first : !first;
    }
}
