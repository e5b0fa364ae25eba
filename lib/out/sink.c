/* Sink: a buffer of our own in front of stdio, because a million rows of integers must not cost a printf each. */
#include "out/text.h"
#include "out/writer.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { POLL_MS = 100 };

/* Waits until the stream takes up to PIPE_BUF bytes: a write that blocks would not notice a signal. */
static bool wait_for_reader(struct pk_sink *s)
{
    struct pollfd p = {.fd = fileno(s->f), .events = POLLOUT};
    int ready = p.fd < 0;
    while (!s->error && ready == 0) {
        ready = poll(&p, 1, POLL_MS);
        if (ready < 0 && errno == EINTR)
            ready = 0;
        if (pk_grace_is_over(&s->grace))
            s->error = EINTR;
    }
    return !s->error;
}

static void write_out(struct pk_sink *s, const char *bytes, size_t n)
{
    while (n && wait_for_reader(s)) {
        const size_t part = n < PIPE_BUF ? n : PIPE_BUF;
        errno = 0;
        if (fwrite(bytes, 1, part, s->f) != part || fflush(s->f))
            s->error = errno ? errno : EIO;
        bytes += part;
        n -= part;
    }
}

/* The next byte that can matter behind the beginning of a line; *hash is the next '#'. */
static size_t next_of_interest(const struct pk_sink *s, size_t i, size_t *hash)
{
    if (*hash < i) {
        const char *at = memchr(s->buf + i, '#', s->n - i);
        *hash = at ? (size_t)(at - s->buf) : s->n;
    }
    const char *end = memchr(s->buf + i, '\n', *hash - i);
    return end ? (size_t)(end - s->buf) : *hash;
}

/* Every byte of every format passes here, so that no text of a case or label is taken for a command in the log of a CI system: "::" at the
 * beginning of a line by GitHub, "##[" and "##vso[" anywhere by GitHub and Azure Pipelines. The last byte of it is replaced. Behind blanks is
 * still the beginning; Unicode has many. */
static void drain(struct pk_sink *s)
{
    size_t from = 0, hash = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->line == PK_LINE_REST && !s->marker && (i = next_of_interest(s, i, &hash)) == s->n)
            break;
        const unsigned char c = (unsigned char)s->buf[i];
        if (pk_ends_marker(&s->marker, (char)c) || (c == ':' && s->line == PK_LINE_COLON)) {
            write_out(s, s->buf + from, i - from);
            write_out(s, "\xef\xbf\xbd", 3);
            from = i + 1;
        }
        const bool blank = c == ' ' || c == '\t' || c >= 0x80;
        s->line = c == '\n'                              ? PK_LINE_START
                  : blank && s->line == PK_LINE_START    ? PK_LINE_START
                  : c == ':' && s->line == PK_LINE_START ? PK_LINE_COLON
                                                         : PK_LINE_REST;
    }
    write_out(s, s->buf + from, s->n - from);
    s->n = 0;
    s->drains++;
}

/* At least n bytes of room in the buffer; n is small. */
static char *make_room(struct pk_sink *s, size_t n)
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
    *make_room(s, 1) = c;
    s->n++;
    s->lines += c == '\n';
}

bool pk_sink_again(struct pk_sink *s, struct pk_memo *m, const char *text)
{
    if (m->written.n && strcmp(pk_buf_text(&m->text), text) == 0) {
        pk_sink_put(s, m->written.s, m->written.n);
        return true;
    }
    m->from = s->n;
    m->drains = s->drains;
    return false;
}

void pk_sink_remember(const struct pk_sink *s, struct pk_memo *m, const char *text)
{
    pk_buf_clear(&m->text);
    pk_buf_clear(&m->written);
    if (s->drains != m->drains) /* its beginning is gone */
        return;
    pk_buf_str(&m->text, text);
    pk_buf_add(&m->written, s->buf + m->from, s->n - m->from);
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
}

int pk_out_plain(FILE *f, const char *text, const volatile int *stop_flag)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_sink *s = pk_new(&a, struct pk_sink);
    s->f = f;
    s->grace.stop_flag = stop_flag;
    pk_sink_str(s, text);
    pk_sink_flush(s);
    return s->error;
}

/* --- reals: the shortest of 15, 16 or 17 significant digits that reads back as the same double --------------------------
 *
 * Export prints millions of them, and printf with strtod as the judge takes 2 us each. In the range where times and ratios live all quantities
 * fit in 128 bits, so the rounding and the judgement are exact in integers: v = f * 2^-s,   m = round(v * 10^k),   m / 10^k reads back as v
 * <=>  |m * 2^s - f * 10^k| < 10^k / 2. */

typedef unsigned __int128 wide;

enum { FEWEST_DIGITS = 15, MOST_DIGITS = 17, REAL_CAP = 32 };

static const double smallest = 1e-5, largest = 1e15;

static wide power_of_ten(int k)
{
    wide p = 1;
    for (uint64_t base = 10; k; k >>= 1, base *= base) {
        if (k & 1)
            p *= base;
    }
    return p;
}

/* Digits of v as an integer m with k decimals. smallest <= v < largest. */
static uint64_t shortest_decimal(double v, int *k)
{
    int exponent;
    uint64_t f = (uint64_t)ldexp(frexp(v, &exponent), 53);
    int s = 53 - exponent;
    bool lower_gap_is_half = f == (uint64_t)1 << 52;
    uint64_t m = 0;
    int first = -5; /* the decimal exponent of the first digit: 0 for 1 <= v < 10 */
    for (double bound = 1e-4; v >= bound && first < 15; bound *= 10)
        first++;
    for (int digits = FEWEST_DIGITS; digits <= MOST_DIGITS; digits++) {
        *k = digits - 1 - first;
        wide ten = power_of_ten(*k), exact = f * ten;
        m = (uint64_t)((exact + ((wide)1 << (s - 1))) >> s);
        wide back = (wide)m << s;
        wide off = back > exact ? back - exact : exact - back;
        if (off * (lower_gap_is_half ? 4 : 2) < ten)
            break;
    }
    return m;
}

/* m / 10^k as text, without trailing zeros behind the point but with one digit there at least. Returns its
 * length. */
static size_t write_decimal(char *out, uint64_t m, int k)
{
    if (k == 0) {
        m *= 10;
        k = 1;
    }
    for (; k > 1 && m % 10 == 0; k--)
        m /= 10;
    char *end = out + REAL_CAP, *p = end;
    for (int i = 0; i < k; i++, m /= 10)
        *--p = (char)('0' + m % 10);
    *--p = '.';
    do {
        *--p = (char)('0' + m % 10);
    } while (m /= 10);
    memmove(out, p, (size_t)(end - p));
    return (size_t)(end - p);
}

void pk_sink_real(struct pk_sink *s, double v)
{
    char text[REAL_CAP];
    int k;
    if (signbit(v))
        pk_sink_char(s, '-');
    v = fabs(v);
    if (v == 0)
        pk_sink_str(s, "0.0");
    else if (v >= smallest && v < largest) {
        uint64_t m = shortest_decimal(v, &k);
        pk_sink_put(s, text, write_decimal(text, m, k));
    } else {
        for (int digits = FEWEST_DIGITS; digits <= MOST_DIGITS; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, v);
            if (strtod(text, NULL) == v)
                break;
        }
        pk_sink_str(s, text);
    }
}
