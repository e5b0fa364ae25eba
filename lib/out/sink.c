/* Sink: a buffer of our own in front of stdio, because a million rows of integers must not cost a printf each. */
#include "out/writer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_out(struct pk_sink *s, const char *bytes, size_t n)
{
    if (!n || s->error)
        return;
    errno = 0;
    if (fwrite(bytes, 1, n, s->f) != n)
        s->error = errno ? errno : EIO;
}

/* Every byte of every format passes here, so that no text of a case or label can begin a line with "::", which GitHub takes for a command:
 * the second colon is replaced. It looks behind blanks, of which Unicode has many. */
static void drain(struct pk_sink *s)
{
    size_t from = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->line == PK_LINE_REST) {
            const char *end = memchr(s->buf + i, '\n', s->n - i);
            if (!end)
                break;
            i = (size_t)(end - s->buf);
        }
        const unsigned char c = (unsigned char)s->buf[i];
        if (c == ':' && s->line == PK_LINE_COLON) {
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
