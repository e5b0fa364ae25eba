/* Bump: memory that tree operations write their nodes to: one block, taken before anything is timed, handed out front to back.
 *
 * It counts what was handed out since it was made, over every reset: the objects and bytes an operation allocates. Running out
 * is an assertion: who sizes it knows the tree (pk_tree_count). */
#pragma once

#include "base/arena.h"
#include "base/assert.h"

#include <stdint.h>

struct pk_bump {
    unsigned char *base;
    size_t used, cap;
    uint64_t objects, bytes; /* handed out in all */
};

static inline void pk_bump_init(struct pk_bump *b, struct pk_arena *a, size_t cap)
{
    *b = (struct pk_bump){.base = pk_alloc(a, cap), .cap = cap};
}

/* Everything handed out becomes free again; the counts go on. */
static inline void pk_bump_reset(struct pk_bump *b)
{
    b->used = 0;
}

/* 8-byte aligned, not cleared. */
static inline void *pk_bump_take(struct pk_bump *b, size_t bytes)
{
    bytes = (bytes + 7) / 8 * 8;
    pk_assert(bytes <= b->cap - b->used);
    void *p = b->base + b->used;
    b->used += bytes;
    b->objects++;
    b->bytes += bytes;
    return p;
}
