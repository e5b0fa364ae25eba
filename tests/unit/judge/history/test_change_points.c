/* Change points: where they are; spikes, short series, exact figures, trend. */
#include "judge/history/change_points.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>

static struct pk_arena arena;

static int free_arena(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

static const double twenty[] = {100,   100.5, 99.6,  100.2, 99.9,  100.4, 99.7,  100.1, 99.8,  100.3,
                                108.1, 107.8, 108.4, 107.9, 108.2, 107.7, 108.3, 108.0, 107.6, 108.5};

static void a_change_point_is_where_it_is(void **state)
{
    const struct pk_change_point *s;
    assert_int_equal(pk_find_change_points(twenty, 20, 0.02, false, &arena, &s), 1);
    assert_int_equal(s[0].at, 10);
    assert_int_equal(s[0].until, 20);
    assert_true(fabs(s[0].change - 0.08) < 0.002 && s[0].p < 1e-4);
    assert_int_equal(pk_find_change_points(twenty, 20, 0.1, false, &arena, &s),
                     0); /* smaller than of interest */
    assert_int_equal(pk_find_change_points(twenty + 4, 13, 0.02, false, &arena, &s), 0); /* 6 against 7 */
    assert_int_equal(pk_find_change_points(twenty + 3, 14, 0.02, false, &arena, &s), 1);
}

static void degenerate_series_have_no_change_points(void **state)
{
    static const double equal[20] = {0}, spike[] = {1, 1, 1, 1, 1, 1, 1, 1, 9, 1, 1, 1, 1, 1, 1, 1};
    const struct pk_change_point *s;
    for (size_t n = 0; n <= 20; n++)
        assert_int_equal(pk_find_change_points(equal, n, 0.02, false, &arena, &s), 0);
    assert_int_equal(pk_find_change_points(spike, 16, 0.02, false, &arena, &s), 0);
}

static void exact_figures_need_no_repeats(void **state)
{
    static const double bytes[] = {0, 8, 8, 6};
    const struct pk_change_point *s;
    assert_int_equal(pk_find_change_points(bytes, 4, 0.02, true, &arena, &s), 2);
    assert_true(s[0].at == 1 && s[0].until == 3 && isnan(s[0].change) && isnan(s[0].p));
    assert_true(s[1].at == 3 && fabs(s[1].change + 0.25) < 1e-12);
}

static void trend_is_a_line_that_leads_somewhere(void **state)
{
    double line[12];
    for (size_t i = 0; i < 12; i++)
        line[i] = 100 + 0.5 * (double)i;
    assert_true(fabs(pk_find_trend(line, 12, 0.02) - 5.5 / 102.75) < 1e-9);
    assert_true(pk_find_trend(line, 12, 0.1) == 0 && pk_find_trend(line, 7, 0.02) == 0);
    assert_true(pk_find_trend(twenty, 10, 0.02) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_change_point_is_where_it_is, free_arena),
        cmocka_unit_test_teardown(degenerate_series_have_no_change_points, free_arena),
        cmocka_unit_test_teardown(exact_figures_need_no_repeats, free_arena),
        cmocka_unit_test_teardown(trend_is_a_line_that_leads_somewhere, free_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
