/* Sink: a buffer of our own in front of stdio, because a million rows of integers must not cost a printf
 * each. */
#include "out/sink.h"

#include <errno.h>
#include <string.h>

static void drain(struct pk_sink *s)
{
    if (s->n && !s->error) {
        errno = 0;
        if (fwrite(s->buf, 1, s->n, s->f) != s->n)
            s->error = errno ? errno : EIO;
    }
    s->n = 0;
}

/* At least n bytes of room in the buffer; n is small. */
static char *room(struct pk_sink *s, size_t n)
{
    if (s->n + n > PK_SINK_BYTES)
        drain(s);
    return s->buf + s->n;
}

void pk_sink_put(struct pk_sink *s, const char *bytes, size_t n)
{
    while (n) {
        size_t part = n < PK_SINK_BYTES - s->n ? n : PK_SINK_BYTES - s->n;
        memcpy(s->buf + s->n, bytes, part);
        s->n += part;
        bytes += part;
        n -= part;
        if (s->n == PK_SINK_BYTES)
            drain(s);
    }
}

void pk_sink_str(struct pk_sink *s, const char *text)
{
    pk_sink_put(s, text, strlen(text));
}

void pk_sink_char(struct pk_sink *s, char c)
{
    *room(s, 1) = c;
    s->n++;
}

static const char digit_pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

void pk_sink_int(struct pk_sink *s, int64_t v)
{
    char text[20], *p = text + sizeof text;
    uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;
    for (; u >= 100; u /= 100)
        memcpy(p -= 2, digit_pairs + 2 * (u % 100), 2);
    if (u >= 10)
        memcpy(p -= 2, digit_pairs + 2 * u, 2);
    else
        *--p = (char)('0' + u);
    if (v < 0)
        *--p = '-';
    pk_sink_put(s, p, (size_t)(text + sizeof text - p));
}

void pk_sink_flush(struct pk_sink *s)
{
    drain(s);
    errno = 0;
    if (fflush(s->f) && !s->error)
        s->error = errno ? errno : EIO;
}
