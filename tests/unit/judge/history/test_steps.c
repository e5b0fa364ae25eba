/* Steps: how often a change is seen that is none, and how often one that is; spikes, short series, exact figures, creep. */
#include "judge/history/steps.h"

#include "base/rng.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>

enum { RUNS = 60, SERIES = 200 };

static struct pk_arena arena;

static int free_arena(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

/* 1 % of noise, one value in fifty 8 % high, from `at` on the level is 1 + step. */
static void simulate(double *v, size_t n, size_t at, double step, struct pk_rng *r)
{
    for (size_t i = 0; i < n; i++)
        v[i] = exp(0.01 * pk_rng_normal(r)) * (i < at ? 1 : 1 + step) * (pk_rng_uniform(r) < 0.02 ? 1.08 : 1);
}

/* How many of SERIES have a step, and one within three runs of `at`. */
static void count(size_t at, double step, size_t *any, size_t *there)
{
    struct pk_rng r = {42};
    double v[RUNS];
    *any = *there = 0;
    for (size_t i = 0; i < SERIES; i++) {
        const struct pk_step *s;
        simulate(v, RUNS, at, step, &r);
        size_t n = pk_find_steps(v, RUNS, 0.02, false, &arena, &s), near = 0;
        for (size_t k = 0; k < n; k++)
            near |= s[k].at + 3 >= at && s[k].at <= at + 3;
        *any += n > 0;
        *there += near;
    }
}

static void few_false_alarms_and_most_steps_found(void **state)
{
    size_t any, there;
    count(RUNS, 0, &any, &there);
    print_message("flat: %zu of %d\n", any, SERIES);
    assert_true(any <= SERIES / 50);
    count(RUNS - 14, 0.03, &any, &there);
    print_message("+3 %%, 14 runs after: %zu\n", there);
    assert_true(there >= SERIES * 8 / 10);
    count(RUNS - 14, 0.10, &any, &there);
    print_message("+10 %%, 14 runs after: %zu\n", there);
    assert_true(there >= SERIES * 97 / 100);
}

static const double twenty[] = {100,   100.5, 99.6,  100.2, 99.9,  100.4, 99.7,  100.1, 99.8,  100.3,
                                108.1, 107.8, 108.4, 107.9, 108.2, 107.7, 108.3, 108.0, 107.6, 108.5};

static void a_step_is_where_it_is(void **state)
{
    const struct pk_step *s;
    assert_int_equal(pk_find_steps(twenty, 20, 0.02, false, &arena, &s), 1);
    assert_int_equal(s[0].at, 10);
    assert_int_equal(s[0].until, 20);
    assert_true(fabs(s[0].change - 0.08) < 0.002 && s[0].p < 1e-4);
    assert_int_equal(pk_find_steps(twenty, 20, 0.1, false, &arena, &s), 0); /* smaller than of interest */
    assert_int_equal(pk_find_steps(twenty + 4, 13, 0.02, false, &arena, &s), 0); /* 6 against 7 */
    assert_int_equal(pk_find_steps(twenty + 3, 14, 0.02, false, &arena, &s), 1);
}

static void degenerate_series_have_no_steps(void **state)
{
    static const double equal[20] = {0}, spike[] = {1, 1, 1, 1, 1, 1, 1, 1, 9, 1, 1, 1, 1, 1, 1, 1};
    const struct pk_step *s;
    for (size_t n = 0; n <= 20; n++)
        assert_int_equal(pk_find_steps(equal, n, 0.02, false, &arena, &s), 0);
    assert_int_equal(pk_find_steps(spike, 16, 0.02, false, &arena, &s), 0);
}

static void exact_figures_need_no_repeats(void **state)
{
    static const double bytes[] = {0, 8, 8, 6};
    const struct pk_step *s;
    assert_int_equal(pk_find_steps(bytes, 4, 0.02, true, &arena, &s), 2);
    assert_true(s[0].at == 1 && s[0].until == 3 && isnan(s[0].change) && isnan(s[0].p));
    assert_true(s[1].at == 3 && fabs(s[1].change + 0.25) < 1e-12);
}

static void creep_is_a_line_that_leads_somewhere(void **state)
{
    double line[12];
    for (size_t i = 0; i < 12; i++)
        line[i] = 100 + 0.5 * (double)i;
    assert_true(fabs(pk_find_creep(line, 12, 0.02) - 5.5 / 102.75) < 1e-9);
    assert_true(pk_find_creep(line, 12, 0.1) == 0 && pk_find_creep(line, 7, 0.02) == 0);
    assert_true(pk_find_creep(twenty, 10, 0.02) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(few_false_alarms_and_most_steps_found, free_arena),
        cmocka_unit_test_teardown(a_step_is_where_it_is, free_arena),
        cmocka_unit_test_teardown(degenerate_series_have_no_steps, free_arena),
        cmocka_unit_test_teardown(exact_figures_need_no_repeats, free_arena),
        cmocka_unit_test_teardown(creep_is_a_line_that_leads_somewhere, free_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
