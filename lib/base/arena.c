/* Arena: blocks that double in size, freed together. */
#include "base/arena.h"

#include "base/err.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pk_arena_block {
    struct pk_arena_block *next;
    size_t cap, used;
    _Alignas(max_align_t) unsigned char data[];
};

enum { FIRST_BLOCK = 4096, LARGEST_STEP = 1 << 20 };

static pk_oom_fn *oom_handler;
static _Thread_local unsigned long fail_at, made;
static _Thread_local bool in_timed_region;

void pk_set_oom_handler(pk_oom_fn *fn)
{
    oom_handler = fn;
}

unsigned long pk_arena_fail_after(unsigned long n)
{
    unsigned long m = made;
    made = 0;
    fail_at = n;
    return m;
}

bool pk_timed_region(bool inside)
{
    bool was = in_timed_region;
    in_timed_region = inside;
    return was;
}

_Noreturn static void refused(size_t bytes)
{
    if (oom_handler)
        oom_handler(bytes);
    abort();
}

static struct pk_arena_block *add_block(struct pk_arena *a, size_t bytes)
{
    size_t cap = a->head ? a->head->cap * 2 : FIRST_BLOCK;
    if (cap > LARGEST_STEP)
        cap = LARGEST_STEP;
    if (cap < bytes)
        cap = bytes;
    struct pk_arena_block *b = calloc(1, sizeof *b + cap);
    if (!b)
        refused(bytes);
    b->cap = cap;
    b->next = a->head;
    a->head = b;
    return b;
}

void *pk_alloc(struct pk_arena *a, size_t bytes)
{
    pk_assert(!in_timed_region);
    if (++made == fail_at)
        refused(bytes);
    size_t align = _Alignof(max_align_t);
    pk_assert(bytes <= SIZE_MAX / 2);
    bytes = (bytes + align - 1) / align * align;
    struct pk_arena_block *b = a->head;
    if (!b || b->cap - b->used < bytes)
        b = add_block(a, bytes);
    void *p = b->data + b->used;
    b->used += bytes;
    a->used_bytes += bytes;
    return p;
}

void *pk_alloc_n(struct pk_arena *a, size_t n, size_t bytes)
{
    size_t total;
    pk_assert(!__builtin_mul_overflow(n, bytes, &total));
    return pk_alloc(a, total);
}

void *pk_grow(struct pk_arena *a, const void *old, size_t elem_bytes, size_t n, size_t *cap)
{
    if (n < *cap)
        return (void *)old;
    size_t more = *cap ? *cap * 2 : 8;
    void *p = pk_alloc_n(a, more, elem_bytes);
    if (n)
        memcpy(p, old, n * elem_bytes);
    *cap = more;
    return p;
}

void pk_arena_free(struct pk_arena *a)
{
    while (a->head) {
        struct pk_arena_block *b = a->head;
        a->head = b->next;
        free(b);
    }
    a->used_bytes = 0;
}

char *pk_strndup(struct pk_arena *a, const char *s, size_t n)
{
    char *p = pk_alloc(a, n + 1);
    memcpy(p, s, n);
    return p;
}

char *pk_strdup(struct pk_arena *a, const char *s)
{
    return pk_strndup(a, s, strlen(s));
}

char *pk_vprintf(struct pk_arena *a, const char *fmt, va_list ap)
{
    char first[128]; /* mostly long enough */
    va_list again;
    va_copy(again, ap);
    const int n = vsnprintf(first, sizeof first, fmt, ap);
    pk_assert(n >= 0);
    char *p = pk_alloc(a, (size_t)n + 1);
    if ((size_t)n < sizeof first)
        memcpy(p, first, (size_t)n);
    else
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

char *pk_printf(struct pk_arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *p = pk_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}

void pk_errs_add(struct pk_errs *l, const struct pk_err *err)
{
    l->v = pk_grow(l->arena, l->v, sizeof *l->v, l->n, &l->cap);
    l->v[l->n++] = *err;
}
