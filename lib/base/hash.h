/* Hash: FNV-1a, 64 bits: for tables and to tell contents apart, not for secrets. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PK_HASH_EMPTY 0xcbf29ce484222325u

/* Goes on from h, which is PK_HASH_EMPTY or what an earlier call returned. */
static inline uint64_t pk_hash(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}
