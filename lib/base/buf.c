/* Buf: a string that grows, in an arena. */
#include "base/buf.h"

#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void reserve(struct pk_buf *b, size_t more)
{
    size_t need = b->n + more + 1;
    if (need <= b->cap)
        return;
    size_t cap = b->cap ? b->cap * 2 : 64;
    if (cap < need)
        cap = need;
    char *s = pk_alloc(b->arena, cap);
    if (b->n)
        memcpy(s, b->s, b->n);
    b->s = s;
    b->cap = cap;
}

void pk_buf_add(struct pk_buf *b, const char *s, size_t n)
{
    reserve(b, n);
    if (n)
        memcpy(b->s + b->n, s, n);
    b->n += n;
    b->s[b->n] = '\0';
}

void pk_buf_str(struct pk_buf *b, const char *s)
{
    pk_buf_add(b, s, strlen(s));
}

void pk_buf_char(struct pk_buf *b, char c)
{
    pk_buf_add(b, &c, 1);
}

void pk_buf_printf(struct pk_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    pk_assert(n >= 0);
    reserve(b, (size_t)n);
    va_start(ap, fmt);
    vsnprintf(b->s + b->n, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->n += (size_t)n;
}

void pk_buf_clear(struct pk_buf *b)
{
    b->n = 0;
    if (b->s)
        b->s[0] = '\0';
}

const char *pk_buf_text(const struct pk_buf *b)
{
    return b->s ? b->s : "";
}
