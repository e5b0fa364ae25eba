/* Pairs: the order in which they run, and that of the turns of several. */
#include "stats/verdict/verdict.h"

void pk_turn_order(struct pk_rng *r, size_t round, size_t *order, size_t n)
{
    for (size_t i = 0; round % 4 == 0 && i < n; i++)
        order[i] = i;
    if (round % 4 == 0)
        pk_rng_shuffle(r, order, n);
    for (size_t i = 0; round % 2 && i < n / 2; i++) {
        const size_t first = order[i];
        order[i] = order[n - 1 - i];
        order[n - 1 - i] = first;
    }
}

void pk_pair_order(uint64_t seed, size_t n, bool *base_first)
{
    struct pk_rng r = {seed};
    size_t order[2];
    for (size_t i = 0; i < n; i++) {
        pk_turn_order(&r, i, order, 2);
        base_first[i] = order[0] == 0;
    }
}
