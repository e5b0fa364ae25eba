/* Pool: counts and allocates device memory; an allocation costs O(1) after warm-up.
 *
 *   current    bytes of live allocations (rounded to PK_POOL_ALIGN, as the device sees them)
 *   peak       highest current since pk_pool_reset_peak
 *   reserved   bytes taken from the device, live or kept for reuse
 *   limit      current may not exceed it
 * An allocation is served from the free list of its rounded size, so an iteration that allocates the same sizes as the one before takes
 * nothing from the device. Blocks are never split or merged: a case uses exactly the bytes that it requests. When the limit allows the
 * live bytes but reserved would pass it, idle blocks are released first. Tags say what live bytes are for; current and peak are also
 * counted per tag. Not thread safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pk_tag {
    PK_TAG_OTHER,
    PK_TAG_INPUT,
    PK_TAG_PARAMETERS,
    PK_TAG_GRADIENTS,
    PK_TAG_OPTIMIZER,
    PK_TAG_ACTIVATIONS,
    PK_TAG_WORKSPACE,
    PK_TAGS
};

enum { PK_POOL_ALIGN = 256 };

/* Bytes in whole units of PK_POOL_ALIGN, as the pool counts them; 0 stays 0. */
static inline size_t pk_pool_rounded(size_t bytes)
{
    return (bytes + PK_POOL_ALIGN - 1) / PK_POOL_ALIGN * PK_POOL_ALIGN;
}

enum { PK_POOL_BUCKETS = 256 };

struct pk_device;
struct pk_pool_block; /* pool.c */

/* Called for every allocation and free while set: the memory pass records its log with it. bytes < 0 is a free. */
typedef void pk_pool_observer_fn(void *user, int64_t bytes, enum pk_tag tag, size_t current);

struct pk_pool {
    struct pk_device *dev;
    size_t current, peak, reserved, limit;
    size_t tag_current[PK_TAGS], tag_peak[PK_TAGS];
    size_t refused_bytes;                        /* the request that hit the limit last; 0 = none */
    uint64_t serial;                             /* of the last allocation made: see pk_pool_reclaim */
    struct pk_pool_block *live[PK_POOL_BUCKETS]; /* by address */
    struct pk_pool_block *idle[PK_POOL_BUCKETS]; /* by size */
    struct pk_pool_block *spare;                 /* descriptors without memory */
    pk_pool_observer_fn *observer;
    void *observer_user;
    unsigned long fail_at; /* fault injection: refuse the n-th allocation from now; 0 = never */
};

void pk_pool_init(struct pk_pool *p, struct pk_device *dev, size_t limit_bytes);
/* NULL when the limit or the device refuses; p->refused_bytes is then the requested size. 0 bytes take one unit. */
void *pk_pool_alloc(struct pk_pool *p, size_t bytes, enum pk_tag tag);
void pk_pool_free(struct pk_pool *p,
                  void *ptr); /* NULL is allowed; an address that is not live is a bug (pk_assert) */
void pk_pool_reset_peak(struct pk_pool *p); /* peak = current, per tag as well; refused = 0 */
void pk_pool_trim(struct pk_pool *p);       /* gives every idle block back to the device */
/* Frees live allocations made after p->serial had the value `since`: memory that a probe leaked. Returns the bytes. */
size_t pk_pool_reclaim(struct pk_pool *p, uint64_t since);
const char *pk_tag_name(enum pk_tag tag);
