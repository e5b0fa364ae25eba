/* Sizes, rates, durations, ratios, integers and reals: refused in three parts, or printed so that they read back. */
#include "base/text/units.h"
#include "fuzz.h"

#include <math.h>

static void size_rate_and_duration(const char *text)
{
    struct pk_err err = {0};
    int64_t v, back;
    char buf[64];
    if (pk_parse_size(text, &v, &err))
        pk_fuzz_refusal(&err);
    else
        pk_assert(v >= 0 && !pk_parse_size(pk_format_size_exact(v, buf, sizeof buf), &back, &err) &&
                  back == v);
    if (pk_parse_rate(text, &v, &err))
        pk_fuzz_refusal(&err);
    else
        pk_assert(v >= 0 && !pk_parse_rate(pk_format_rate_exact(v, buf, sizeof buf), &back, &err) &&
                  back == v);
    if (pk_parse_duration(text, &v, &err))
        pk_fuzz_refusal(&err);
    else
        pk_assert(v >= 0 && !pk_parse_duration(pk_format_duration_exact(v, buf, sizeof buf), &back, &err) &&
                  back == v);
}

static void numbers(const char *text)
{
    struct pk_err err = {0};
    int64_t i;
    double f;
    if (pk_parse_int(text, &i, &err))
        pk_fuzz_refusal(&err);
    if (pk_parse_real(text, &f, &err))
        pk_fuzz_refusal(&err);
    else
        pk_assert(isfinite(f));
    if (pk_parse_ratio(text, &f, &err))
        pk_fuzz_refusal(&err);
    else
        pk_assert(isfinite(f));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *text = pk_strndup(&a, (const char *)data, n);
    size_rate_and_duration(text);
    numbers(text);
    return 0;
}
