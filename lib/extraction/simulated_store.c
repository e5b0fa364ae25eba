/* Simulated store: a ring of slots and the time at which each was stored. */
#include "extraction/simulated_store.h"

uint64_t pk_simulated_free_at(const struct pk_simulated_store *s)
{
    return s->n < s->slots ? 0 : s->stored_at[s->n % s->slots];
}

void pk_simulated_submit(struct pk_simulated_store *s, uint64_t now_ns)
{
    if (!s->n)
        s->began = now_ns;
    s->last = (now_ns > s->last ? now_ns : s->last) + s->store_ns;
    s->stored_at[s->n++ % s->slots] = s->last;
}
