/* Split: parts, blanks, empties. */
#include "base/split.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

static void parts_in_order(void **state)
{
    struct pk_arena a = {0};
    const char *rest = "a, b\t,,c ";
    assert_string_equal(pk_next_part(&rest, ',', &a), "a");
    assert_string_equal(pk_next_part(&rest, ',', &a), "b");
    assert_string_equal(pk_next_part(&rest, ',', &a), "");
    assert_string_equal(pk_next_part(&rest, ',', &a), "c");
    assert_null(pk_next_part(&rest, ',', &a));
    rest = "";
    assert_string_equal(pk_next_part(&rest, ',', &a), "");
    assert_null(pk_next_part(&rest, ',', &a));
    pk_arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
