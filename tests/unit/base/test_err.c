/* Errors: what does not fit is cut between characters, so that a message is UTF-8 wherever its parts were. */
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* n times a character of 1 to 4 bytes. */
static const char *const of_bytes[] = {"a", "\u00e9", "\u20ac", "\U0001f600"};

static const char *repeated(const char *character, size_t n)
{
    static char text[4096];
    *text = '\0';
    for (size_t at = 0, bytes = strlen(character); n--; at += bytes)
        snprintf(text + at, sizeof text - at, "%s", character);
    return text;
}

static void whole_of(const char *text, size_t room, const char *character)
{
    const size_t bytes = strlen(character), n = strlen(text);
    assert_in_range(n, room - bytes, room - 1);
    assert_int_equal(n % bytes, 0);
    for (size_t i = 0; i < n; i += bytes)
        assert_memory_equal(text + i, character, bytes);
}

static void a_cut_goes_between_characters(void **state)
{
    struct pk_err err;
    for (size_t i = 0; i < sizeof of_bytes / sizeof *of_bytes; i++) {
        const char *text = repeated(of_bytes[i], 900);
        pk_fail(&err, PK_E_IO, "%s", text);
        pk_why(&err, "%s", text);
        pk_fix(&err, "%s", text);
        whole_of(err.what, sizeof err.what, of_bytes[i]);
        whole_of(err.why, sizeof err.why, of_bytes[i]);
        whole_of(err.fix, sizeof err.fix, of_bytes[i]);
    }
}

static void within_cuts_there_too(void **state)
{
    struct pk_err err;
    for (size_t i = 0; i < sizeof of_bytes / sizeof *of_bytes; i++) {
        const char *text = repeated(of_bytes[i], 900);
        pk_fail(&err, PK_E_IO, "%s", text);
        pk_within(&err, "%s", text);
        char *inner = strstr(err.what, ": ");
        assert_non_null(inner);
        *inner = '\0';
        whole_of(err.what, 128, of_bytes[i]);
        whole_of(inner + 2, 381, of_bytes[i]);
    }
}

static void what_fits_stays(void **state)
{
    struct pk_err err;
    assert_int_equal(pk_fail(&err, PK_E_USAGE, "%s", "se\u00e9"), PK_E_USAGE);
    assert_string_equal(err.what, "se\u00e9");
    pk_within(&err, "\u20ac");
    assert_string_equal(err.what, "\u20ac: se\u00e9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_cut_goes_between_characters),
                                       cmocka_unit_test(within_cuts_there_too),
                                       cmocka_unit_test(what_fits_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
