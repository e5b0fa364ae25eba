/* Plural: one, none, many, and nouns that hiss. */
#include "base/plural.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

static void numbers_agree(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    assert_string_equal(pk_plural(1, "case", &a), "1 case");
    assert_string_equal(pk_plural(0, "case", &a), "0 cases");
    assert_string_equal(pk_plural(2, "process", &a), "2 processes");
    assert_string_equal(pk_plural(1, "process", &a), "1 process");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
