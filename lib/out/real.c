/* Real: the shortest of 15, 16 or 17 significant digits that reads back as the same double.
 *
 * Export prints millions of them, and printf with strtod as the judge takes 2 us each. In the range where
 * times and ratios live all quantities fit in 128 bits, so the rounding and the judgement are exact in
 * integers: v = f * 2^-s,   m = round(v * 10^k),   m / 10^k reads back as v  <=>  |m * 2^s - f * 10^k| < 10^k
 * / 2. */
#include "out/sink.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* The decimal exponent of v's first digit: 0 for 1 <= v < 10. */
static int first_digit(double v)
{
    int e = -5;
    for (double bound = 1e-4; v >= bound && e < 15; bound *= 10)
        e++;
    return e;
}

/* Digits of v as an integer m with k decimals. smallest <= v < largest. */
static uint64_t shortest_decimal(double v, int *k)
{
    int exponent;
    uint64_t f = (uint64_t)ldexp(frexp(v, &exponent), 53);
    int s = 53 - exponent;
    bool lower_gap_is_half = f == (uint64_t)1 << 52;
    uint64_t m = 0;
    for (int digits = FEWEST_DIGITS; digits <= MOST_DIGITS; digits++) {
        *k = digits - 1 - first_digit(v);
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

static size_t write_anything(char *out, double v)
{
    int n = 0;
    for (int digits = FEWEST_DIGITS; digits <= MOST_DIGITS; digits++) {
        n = snprintf(out, REAL_CAP, "%.*g", digits, v);
        if (strtod(out, NULL) == v)
            break;
    }
    return (size_t)n;
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
        pk_sink_put(s, text, write_anything(text, v));
    }
}
