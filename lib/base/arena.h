/* Arena: memory with one owner, freed as a whole.
 *
 * A command, a plan or a result set has an arena. Everything that belongs to it is allocated there and freed with it. A single object
 * cannot be freed. malloc and free appear here and in vendor wrappers only.
 *
 * Memory is zeroed. An allocation never returns NULL: when the system refuses, the process-wide handler runs
 * (cmd/frame/main.c installs one that prints a three-part message and exits 1; a store transaction then rolls back).
 * Not thread safe. Never used inside a timed region: pk_alloc asserts it, see pk_timed_region. */
#pragma once

#include "base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct pk_arena {
    struct pk_arena_block *head; /* newest block first; NULL while empty */
    size_t used_bytes;           /* handed out since creation or reset */
};

/* An empty arena is all zeros: struct pk_arena a = {0}. */
void *pk_alloc(struct pk_arena *a, size_t bytes) __attribute__((malloc, returns_nonnull));
void pk_arena_free(struct pk_arena *a); /* frees every object; the arena is empty and usable again */

#define pk_new(a, T)      ((T *)pk_alloc((a), sizeof(T)))
#define pk_new_n(a, T, n) ((T *)pk_alloc_n((a), (n), sizeof(T)))
#define PK_ARENA_CLEANUP  __attribute__((cleanup(pk_arena_free)))

/* n * bytes, checked for overflow (an overflow is an assertion). */
void *pk_alloc_n(struct pk_arena *a, size_t n, size_t bytes) __attribute__((malloc, returns_nonnull));

/* A copy with room for at least `cap` elements; used by growing arrays:
 *     items = pk_grow(a, items, sizeof *items, n, &cap);   then items[n++] = x; */
void *pk_grow(struct pk_arena *a, const void *old, size_t elem_bytes, size_t n, size_t *cap);

char *pk_strdup(struct pk_arena *a, const char *s);
char *pk_strndup(struct pk_arena *a, const char *s, size_t n);
char *pk_printf(struct pk_arena *a, const char *fmt, ...) PK_PRINTF(2, 3);
char *pk_vprintf(struct pk_arena *a, const char *fmt, va_list ap) PK_PRINTF(2, 0);

/* The handler for allocations that the system refuses. It must not return. Default: abort(). */
typedef void pk_oom_fn(size_t bytes);
void pk_set_oom_handler(pk_oom_fn *fn);

/* Fault injection: the n-th allocation of this thread from now is refused (n >= 1; 0 switches off). Returns the number of allocations since the last
 * call. */
unsigned long pk_arena_fail_after(unsigned long n);

/* Marks the calling thread as inside a timed region: pk_alloc asserts that it is not. Cheap (a thread-local store), so it is on in every
 * build. Returns the previous state, so that code that may allocate can leave the region and enter it again. */
bool pk_timed_region(bool inside);

/* All errors of one input, in the order in which they were found, so that they can be printed together. */
struct pk_errs {
    struct pk_arena *arena; /* set before first use: struct pk_errs l = {.arena = a} */
    struct pk_err *v;
    size_t n, cap;
};

/* Keeps a copy. */
void pk_errs_add(struct pk_errs *l, const struct pk_err *err);
