/* Index: linear probing, at most half full. */
#include "base/index.h"

#include "base/rng.h"

#include <string.h>

struct pk_index_slot {
    uint64_t hash;
    uint32_t row_plus_1; /* 0: free */
};

enum { FIRST_SLOTS = 64 };

uint64_t pk_hash(uint64_t h, uint64_t x)
{
    return pk_rng_mix(x + (h + 1) * 0x9e3779b97f4a7c15u);
}

uint64_t pk_hash_bytes(uint64_t h, const void *p, size_t n)
{
    const unsigned char *byte = p;
    uint64_t word = 0;
    h = pk_hash(h, n);
    for (; n >= sizeof word; n -= sizeof word, byte += sizeof word) {
        memcpy(&word, byte, sizeof word);
        h = pk_hash(h, word);
    }
    word = 0;
    memcpy(&word, byte, n);
    return pk_hash(h, word);
}

uint64_t pk_fnv1a(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static void grow(struct pk_index *x)
{
    struct pk_index_slot *old = x->slot;
    size_t n_old = x->slots;
    x->slots = n_old ? 2 * n_old : FIRST_SLOTS;
    x->slot = pk_new_n(x->arena, struct pk_index_slot, x->slots);
    for (size_t o = 0; o < n_old; o++) {
        size_t i = old[o].hash & (x->slots - 1);
        while (x->slot[i].row_plus_1)
            i = (i + 1) & (x->slots - 1);
        if (old[o].row_plus_1)
            x->slot[i] = old[o];
    }
}

uint32_t pk_index_row(struct pk_index *x, uint64_t hash, pk_index_same_fn *same, const void *wanted,
                      uint32_t fresh)
{
    if (2 * x->n >= x->slots)
        grow(x);
    size_t i = hash & (x->slots - 1);
    for (; x->slot[i].row_plus_1; i = (i + 1) & (x->slots - 1))
        if (x->slot[i].hash == hash && same(wanted, x->slot[i].row_plus_1 - 1))
            return x->slot[i].row_plus_1 - 1;
    x->slot[i] = (struct pk_index_slot){hash, fresh + 1};
    x->n++;
    return fresh;
}
