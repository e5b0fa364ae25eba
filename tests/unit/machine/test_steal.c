/* Steal time out of /proc/stat texts. */
#include "machine/machine.h"
#include "machine/parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char stat_text[] = "cpu  10 20 30 40 50 60 70 80 0 0\n"
                                "cpu0 1 2 3 4 5 6 7 11 0 0\n"
                                "cpu1 1 2 3 4 5 6 7 100 0 0\n"
                                "cpu10 1 2 3 4 5 6 7 1000 0 0\n"
                                "intr 12345 0 0\n"
                                "cpu2 is not a line of this part\n";

static void steal_of_given_cpus(void **state)
{
    const unsigned zero[] = {0}, two[] = {0, 10}, absent[] = {2, 7};
    assert_int_equal(pk_steal_ticks(stat_text, zero, 1), 11);
    assert_int_equal(pk_steal_ticks(stat_text, two, 2), 1011);
    assert_int_equal(pk_steal_ticks(stat_text, absent, 2), -1);
}

static void texts_that_are_not_stat(void **state)
{
    const unsigned zero[] = {0};
    assert_int_equal(pk_steal_ticks("", zero, 1), -1);
    assert_int_equal(pk_steal_ticks("cpu", zero, 1), -1);
    assert_int_equal(pk_steal_ticks("cpu0", zero, 1), 0);
    assert_int_equal(pk_steal_ticks("cpu0 1 2", zero, 1), 0);
}

static void this_host(void **state)
{
    const unsigned zero[] = {0};
    uint64_t before, after;
    assert_true(pk_machine_steal(zero, 1, &before));
    assert_true(pk_machine_steal(zero, 1, &after));
    assert_true(after >= before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steal_of_given_cpus),
        cmocka_unit_test(texts_that_are_not_stat),
        cmocka_unit_test(this_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
