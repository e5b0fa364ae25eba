/* Match: keys sorted, and found by bisection: a run may have a hundred thousand cases. */
#include "judge/pair/match.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int by_key(const void *x, const void *y)
{
    const struct pk_match_key *a = x, *b = y;
    const int c = strcmp(a->key, b->key);
    return c ? c : (a->at > b->at) - (a->at < b->at);
}

struct pk_match pk_match_make(const char *const *keys, size_t n, struct pk_arena *a)
{
    struct pk_match m = {pk_new_n(a, struct pk_match_key, n + 1), n, pk_new_n(a, bool, n + 1)};
    for (size_t i = 0; i < n; i++)
        m.v[i] = (struct pk_match_key){keys[i], i};
    qsort(m.v, n, sizeof *m.v, by_key);
    return m;
}

size_t pk_match_first(const struct pk_match *m, const char *key)
{
    size_t lo = 0, hi = m->n;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (strcmp(m->v[mid].key, key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < m->n && strcmp(m->v[lo].key, key) == 0 ? lo : m->n;
}

size_t pk_match_find(const struct pk_match *m, const char *key, bool again)
{
    for (size_t i = pk_match_first(m, key); i < m->n && strcmp(m->v[i].key, key) == 0; i++)
        if (again || !m->taken[m->v[i].at])
            return m->v[i].at;
    return SIZE_MAX;
}
