/* Simulated store: slots and one storing stage on a simulated clock, for devices that compute nothing.
 *
 * A batch takes store_ns, one after the other; its slot is free when it is stored. Time of a pass of n batches whose first stages take f:
 * with two slots or more n f + store_ns where f is longer, f + n store_ns where it is not: fill + n bound + drain. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PK_SIMULATED_SLOTS_MAX = 64 };
/* Bytes of hidden states that one thread stores in a ns of the simulated clock. */
#define PK_SIMULATED_BYTES_PER_NS 1.0

struct pk_simulated_store {
    uint64_t store_ns;
    size_t slots, n;
    uint64_t stored_at[PK_SIMULATED_SLOTS_MAX], began, last; /* began: of the first batch */
};

/* When the next batch's slot is free, on the same clock; 0 = it always was.
 * The caller advances its clock to there before it fills the slot. */
uint64_t pk_simulated_free_at(const struct pk_simulated_store *s);
/* The next batch is in its slot. It is stored behind those that came before it,
 * however many of them are still waiting. */
void pk_simulated_submit(struct pk_simulated_store *s, uint64_t now_ns);
