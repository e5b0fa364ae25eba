/* Buf: a string that grows, in an arena. */
#include "base/text/buf.h"

#include "base/err.h"

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
    for (size_t n = 0;;) { /* mostly there is room at once */
        reserve(b, n);
        va_list ap;
        va_start(ap, fmt);
        const int needed = vsnprintf(b->s + b->n, b->cap - b->n, fmt, ap);
        va_end(ap);
        pk_assert(needed >= 0);
        if ((size_t)needed < b->cap - b->n) {
            b->n += (size_t)needed;
            return;
        }
        n = (size_t)needed;
    }
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
