/* Index: finds a row of a growing table by its content, with the hash functions for that. A hash table with open addressing; the rows
 * stay with their owner. */
#pragma once

#include "base/arena.h"

#include <stdint.h>

struct pk_index {
    struct pk_arena *arena; /* set before first use: struct pk_index x = {.arena = a} */
    struct pk_index_slot *slot;
    size_t slots, n; /* slots is a power of two */
};

/* Whether this row has the wanted content; `wanted` is the caller's. */
typedef bool pk_index_same_fn(const void *wanted, uint32_t row);

/* The row with this content, or `fresh`, which is then registered. Equal contents have equal hashes. */
uint32_t pk_index_row(struct pk_index *x, uint64_t hash, pk_index_same_fn *same, const void *wanted,
                      uint32_t fresh);

/* Add a number, or n bytes and n, to a hash: every input bit changes every bit of the result. Begin with h = 0. */
uint64_t pk_hash(uint64_t h, uint64_t x);
uint64_t pk_hash_bytes(uint64_t h, const void *p, size_t n);

/* FNV-1a, 64 bits: for hashes that are stored and compared with those of later versions (digests of axis files). h is PK_FNV1A_EMPTY or
 * the result of an earlier call. */
#define PK_FNV1A_EMPTY 0xcbf29ce484222325u

uint64_t pk_fnv1a(uint64_t h, const void *data, size_t n);
