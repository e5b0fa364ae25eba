/* Units: the table of words and scales, parsing by it and printing by it. */
#include "base/text/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Smallest first within a base. Words of "bytes" and "ns" are also what pk_parse_size and pk_parse_duration
 * take. */
static const struct pk_unit units[] = {
    {"ns", "ns", 1},
    {"ns", "us", 1e3},
    {"ns", "ms", 1e6},
    {"ns", "s", 1e9},
    {"ns", "m", 60e9},
    {"ns", "h", 3600e9},
    {"bytes", "B", 1},
    {"bytes", "KB", 1e3},
    {"bytes", "KiB", 0x1p10},
    {"bytes", "MB", 1e6},
    {"bytes", "MiB", 0x1p20},
    {"bytes", "GB", 1e9},
    {"bytes", "GiB", 0x1p30},
    {"bytes", "TB", 1e12},
    {"bytes", "TiB", 0x1p40},
    {"bytes_per_s", "MB/s", 1e6},
    {"bytes_per_s", "GB/s", 1e9},
    {"flops", "GFLOP", 1e9},
    {"flops", "TFLOP", 1e12},
    {"flops_per_s", "GFLOP/s", 1e9},
    {"flops_per_s", "TFLOP/s", 1e12},
    {"1", "%", 0.01},
    {"1", "K", 1e3},
    {"1", "M", 1e6},
};
enum { N_UNITS = sizeof units / sizeof *units };

const struct pk_unit *pk_unit_find(const char *base, const char *shown)
{
    for (size_t i = 0; i < N_UNITS; i++)
        if (!strcmp(units[i].base, base) && !strcmp(units[i].shown, shown))
            return &units[i];
    return NULL;
}

const struct pk_unit *pk_unit_fit(const char *base, const char *shown, double most)
{
    enum { LONGEST = 15 };
    static const double too_many_digits = 99999.5;
    const struct pk_unit *u = NULL;
    char one[LONGEST + 1];
    for (const char *at = shown; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        snprintf(one, sizeof one, "%.*s", (int)n, at);
        u = pk_unit_find(base, one);
        if (!u || most / u->scale < too_many_digits)
            return u;
        at += n;
    }
    return u;
}

/* A decimal as people write it, kept exact: value = digits / 10^decimals. */
struct decimal {
    uint64_t digits;
    unsigned decimals;
    const char *end; /* first character after the number */
};

/* False when there is no number at the start, or it has more digits than fit. */
static bool read_decimal(const char *s, struct decimal *d)
{
    const char *start = s, *point = NULL;
    *d = (struct decimal){0};
    for (; (*s >= '0' && *s <= '9') || (*s == '.' && !point); s++) {
        if (*s == '.') {
            point = s;
            continue;
        }
        if (__builtin_mul_overflow(d->digits, 10, &d->digits) ||
            __builtin_add_overflow(d->digits, (uint64_t)(*s - '0'), &d->digits))
            return false;
    }
    d->decimals = point ? (unsigned)(s - point - 1) : 0;
    d->end = s;
    return s > start + (point != NULL) && s[-1] != '.' && *start != '.';
}

/* digits * scale / 10^decimals, rounded where it is a fraction of a larger unit, as in 0.18 GiB; of the base unit there are no fractions.
 * False for those, where nothing would be left, and where it does not fit. */
static bool scale_whole(const struct decimal *d, double scale, int64_t *out)
{
    unsigned __int128 v = (unsigned __int128)d->digits * (uint64_t)scale;
    unsigned last = 0;
    bool exact = true;
    for (unsigned i = 0; i < d->decimals; i++) {
        last = (unsigned)(v % 10);
        exact &= last == 0;
        v /= 10;
    }
    v += last >= 5;
    if (v > INT64_MAX || (!exact && (scale == 1 || v == 0)))
        return false;
    *out = (int64_t)v;
    return true;
}

/* What differs between the kinds of quantity with words. */
struct quantity {
    const char *name, *base, *words, *example;
    const char *usual
        [2]; /* words for a number that has none, where one is needed; 0 is 0 of anything, but not as a rate */
};
#define BYTE_WORDS "B, KB, KiB, MB, MiB, GB, GiB, TB or TiB"
static const struct quantity size_words = {"size", "bytes", BYTE_WORDS, "4096, 64KiB or 200MB"};
static const struct quantity rate_words = {
    "bandwidth", "bytes", BYTE_WORDS, "25GB, which are 200 Gbit/s", {"GB", "MB"}};
static const struct quantity duration_words = {
    "duration", "ns", "ns, us, ms, s, m or h", "500ms, 2s or 10m", {"ms", "s"}};

static enum pk_code not_understood(const struct quantity *q, const char *text, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "'%.100s' is not a %s", text, q->name);
    pk_why(err, "a %s is a number without a sign or an exponent, and one of %s", q->name, q->words);
    return pk_fix(err, "write for example %s", q->example);
}

/* Reads an exponent ("e3") after the number, and blanks. False when the result does not fit. */
static bool read_exponent(struct decimal *d)
{
    const char *e = d->end;
    if ((*e == 'e' || *e == 'E') && e[1] >= '0' && e[1] <= '9') {
        char *end;
        unsigned long by = strtoul(e + 1, &end, 10);
        if (by > 18)
            return false;
        for (; by && d->decimals; by--)
            d->decimals--;
        for (; by; by--)
            if (__builtin_mul_overflow(d->digits, 10, &d->digits))
                return false;
        d->end = end;
    }
    d->end += strspn(d->end, " ");
    return true;
}

static bool one_of(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(word, words[i]))
            return true;
    return false;
}

/* What is written as a rate, or in bits: "25GB/s", "200Gbps", "1e3 Gb". Bytes are meant. */
static enum pk_code rate_for_size(const struct quantity *q, const char *text, const struct decimal *number,
                                  struct pk_err *err)
{
    static const char *const of_bits[] = {"b", "bps", "bit", "bit/s", "bits", "bits/s", "b/s"};
    static const char *const of_bytes[] = {"Bps", "B/s", "iB/s"};
    struct decimal d = *number;
    if (!read_exponent(&d) || !*d.end || !strchr("KMGTkmgt", *d.end))
        return PK_OK;
    const char prefix = (char)(*d.end & ~0x20), *word = d.end + 1; /* of K M G T */
    const bool plain = d.digits == number->digits && d.decimals == number->decimals;
    const char unit[] = {prefix, 'B', '\0'};
    char size[32];
    int64_t bytes;
    if (plain && one_of(word, of_bytes, sizeof of_bytes / sizeof *of_bytes)) {
        pk_fail(err, PK_E_USAGE, "'%.100s' is not a %s", text, q->name);
        pk_why(err, "a size is expected, not a size per second");
        return pk_fix(err, "write %.*s%c%sB", (int)(number->end - text), text, prefix,
                      *word == 'i' ? "i" : "");
    }
    if (!one_of(word, of_bits, sizeof of_bits / sizeof *of_bits) || (prefix != *d.end && !word[1]) ||
        !scale_whole(&d, pk_unit_find("bytes", unit)->scale / 8, &bytes))
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "'%.100s' is not a %s", text, q->name);
    pk_why(err, "%s are bits; give bytes (8 bits)", d.end);
    return pk_fix(err, "write %s", pk_format_size_exact(bytes, size, sizeof size));
}

static enum pk_code parse_quantity(const struct quantity *q, const char *text, int64_t *out,
                                   struct pk_err *err)
{
    struct decimal d;
    if (!read_decimal(text, &d))
        return not_understood(q, text, err);
    bool bytes = q != &duration_words;
    int digits = (int)(d.end - text);
    if (bytes && strlen(d.end) == 1 && strchr("KMGT", *d.end)) {
        pk_fail(err, PK_E_USAGE, "'%.100s' is not a %s", text, q->name);
        pk_why(err, "%s could mean %.1sB (powers of 1000) or %.1siB (powers of 1024)", d.end, d.end, d.end);
        return pk_fix(err, "write %.*s%.1sB or %.*s%.1siB", digits, text, d.end, digits, text, d.end);
    }
    if (*q->usual && !*d.end && (d.digits || bytes)) {
        pk_fail(err, PK_E_USAGE, "'%.100s' is not a %s", text, q->name);
        pk_why(err, "the unit is missing: %s%s", q->words, bytes ? ", each in a second" : "");
        return d.digits ? pk_fix(err, "write for example %.*s%s or %.*s%s", digits, text, q->usual[0], digits,
                                 text, q->usual[1])
                        : pk_fix(err, "write for example %s", q->example);
    }
    const struct pk_unit *u = pk_unit_find(q->base, *d.end ? d.end : bytes ? "B" : "ns");
    if (!u)
        return bytes && rate_for_size(q, text, &d, err) ? err->code : not_understood(q, text, err);
    if (scale_whole(&d, u->scale, out))
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "'%.100s' is too large", text);
    pk_why(err, "a %s is a whole number of %s below 2^63", q->name, q->base);
    return pk_fix(err, "write for example %s", q->example);
}

enum pk_code pk_parse_size(const char *text, int64_t *bytes, struct pk_err *err)
{
    return parse_quantity(&size_words, text, bytes, err);
}

enum pk_code pk_parse_rate(const char *text, int64_t *bytes_per_s, struct pk_err *err)
{
    return parse_quantity(&rate_words, text, bytes_per_s, err);
}

enum pk_code pk_parse_duration(const char *text, int64_t *ns, struct pk_err *err)
{
    return parse_quantity(&duration_words, text, ns, err);
}

enum pk_code pk_parse_int(const char *text, int64_t *value, struct pk_err *err)
{
    struct decimal d;
    bool negative = *text == '-';
    if (read_decimal(text + negative, &d) && !*d.end && !memchr(text, '.', (size_t)(d.end - text)) &&
        d.digits <= INT64_MAX) {
        *value = negative ? -(int64_t)d.digits : (int64_t)d.digits;
        return PK_OK;
    }
    pk_fail(err, PK_E_USAGE, "'%.100s' is not an integer", text);
    pk_why(err, "an integer has only digits and is below 2^63");
    return pk_fix(err, "write for example 42");
}

enum pk_code pk_parse_real(const char *text, double *value, struct pk_err *err)
{
    char *end = NULL;
    bool plain = *text && strspn(text, "+-.0123456789eE") == strlen(text);
    double v = plain ? strtod(text, &end) : 0;
    if (plain && !*end && isfinite(v)) {
        *value = v;
        return PK_OK;
    }
    pk_fail(err, PK_E_USAGE, "'%.100s' is not a number", text);
    pk_why(err, "a number is written with digits, a decimal point and an exponent, and is finite");
    return pk_fix(err, "write for example 0.25 or 1e-3");
}

enum pk_code pk_parse_ratio(const char *text, double *ratio, struct pk_err *err)
{
    char number[64];
    size_t n = strlen(text);
    bool percent = n > 1 && n < sizeof number && text[n - 1] == '%';
    snprintf(number, sizeof number, "%.*s", (int)(n - percent), text);
    if (n < sizeof number && !pk_parse_real(number, ratio, err)) {
        *ratio = percent ? *ratio / 100 : *ratio;
        if (percent || *ratio <= 1)
            return PK_OK;
        pk_fail(err, PK_E_USAGE, "'%.60s' means %.60s times as much, not %.60s %%", text, text, text);
        pk_why(err, "a ratio without a percent sign is a fraction of 1, and more than 1 is rarely meant");
        return pk_fix(err, "write %.60s%%, or %.15g%%", text, 100 * *ratio);
    }
    pk_fail(err, PK_E_USAGE, "'%.100s' is not a ratio", text);
    pk_why(err, "a ratio is a number, or a number and a percent sign");
    return pk_fix(err, "write for example 0.5%% or 0.005");
}

char *pk_format_bytes(int64_t bytes, char *buf, size_t cap)
{
    static const char *const steps[] = {"KiB", "MiB", "GiB", "TiB"};
    size_t i = 0;
    double v = (double)bytes / 1024;
    if (bytes == PK_BYTES_BEYOND) {
        snprintf(buf, cap, "over 8 EiB");
        return buf;
    }
    if (fabs(v) < 1) {
        snprintf(buf, cap, "%lld B", (long long)bytes);
        return buf;
    }
    for (; i + 1 < sizeof steps / sizeof *steps && fabs(v) >= 1023.95; i++)
        v /= 1024;
    snprintf(buf, cap, "%.1f %s", v, steps[i]);
    return buf;
}

static const double longest = 1e9; /* numbers from here on have an exponent */

/* Three significant digits in the unit that leaves a number below 1000 (below 60 for s and m). */
char *pk_format_ns(double ns, char *buf, size_t cap)
{
    static const struct {
        const char *shown;
        double scale, next;
    } steps[] = {{"ns", 1, 999.5},   {"us", 1e3, 999.5},    {"ms", 1e6, 999.5},
                 {"s", 1e9, 119.95}, {"min", 60e9, 119.95}, {"h", 3600e9, 0}};
    size_t i = 0;
    while (i + 1 < sizeof steps / sizeof *steps && fabs(ns) / steps[i].scale >= steps[i].next)
        i++;
    double v = ns / steps[i].scale;
    int decimals = fabs(v) < 9.995 ? 2 : fabs(v) < 99.95 ? 1 : 0;
    if (fabs(v) < longest)
        snprintf(buf, cap, "%.*f %s", i || ns != trunc(ns) ? decimals : 0, v, steps[i].shown);
    else
        snprintf(buf, cap, "%.6g %s", v, steps[i].shown);
    return buf;
}

char *pk_format_percent(double share, char *buf, size_t cap)
{
    snprintf(buf, cap, fabs(100 * share) < longest ? "%+.1f" : "%+.6g", 100 * share);
    return buf;
}

/* The shortest of all exact spellings, if not that of the plain number and this word; of equally short ones the largest unit. */
static char *shortest(int64_t value, const char *base, const char *word, char *buf, size_t cap)
{
    size_t best = (size_t)snprintf(buf, cap, "%lld%s", (long long)value, word);
    for (size_t i = 0; value && i < N_UNITS; i++) {
        int64_t scale = (int64_t)units[i].scale;
        if (strcmp(units[i].base, base) || value % scale)
            continue;
        char text[48];
        size_t n = (size_t)snprintf(text, sizeof text, "%lld%s", (long long)(value / scale), units[i].shown);
        if (n <= best) {
            best = n;
            snprintf(buf, cap, "%s", text);
        }
    }
    return buf;
}

char *pk_format_size_exact(int64_t bytes, char *buf, size_t cap)
{
    return shortest(bytes, "bytes", "", buf, cap);
}

char *pk_format_rate_exact(int64_t bytes_per_s, char *buf, size_t cap)
{
    return shortest(bytes_per_s, "bytes", "B", buf, cap);
}

char *pk_format_duration_exact(int64_t ns, char *buf, size_t cap)
{
    return shortest(ns, "ns", ns ? "ns" : "", buf, cap);
}
