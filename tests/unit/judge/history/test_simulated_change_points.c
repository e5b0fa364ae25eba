/* Change points in simulated series: how often a change is seen that is none, and how often one that is. */
#include "judge/history/change_points.h"

#include "base/rng.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>

enum { RUNS = 60, SERIES = 200 };

static struct pk_arena arena;

/* 1 % of noise with this lag-1 correlation, one value in fifty 8 % high, from `at` on the level is 1 + step. */
static void simulate(double *v, size_t n, double rho, size_t at, double step, struct pk_rng *r)
{
    double x = pk_rng_normal(r);
    for (size_t i = 0; i < n; i++, x = rho * x + sqrt(1 - rho * rho) * pk_rng_normal(r))
        v[i] = exp(0.01 * x) * (i < at ? 1 : 1 + step) * (pk_rng_uniform(r) < 0.02 ? 1.08 : 1);
}

/* How many of SERIES have a change point, and one within three runs of `at`. */
static void count(double rho, size_t at, double step, size_t *any, size_t *there)
{
    struct pk_rng r = {42};
    double v[RUNS];
    *any = *there = 0;
    for (size_t i = 0; i < SERIES; i++) {
        const struct pk_change_point *s;
        simulate(v, RUNS, rho, at, step, &r);
        size_t n = pk_find_change_points(v, RUNS, 0.02, false, &arena, &s), near = 0;
        for (size_t k = 0; k < n; k++)
            near |= s[k].at + 3 >= at && s[k].at <= at + 3;
        *any += n > 0;
        *there += near;
    }
}

static void few_false_alarms_and_most_change_points_found(void **state)
{
    size_t any, there;
    count(0, RUNS, 0, &any, &there);
    print_message("flat: %zu of %d\n", any, SERIES);
    assert_true(any <= SERIES / 50);
    count(0, RUNS - 14, 0.03, &any, &there);
    print_message("+3 %%, 14 runs after: %zu\n", there);
    assert_true(there >= SERIES * 8 / 10);
    count(0, RUNS - 14, 0.10, &any, &there);
    print_message("+10 %%, 14 runs after: %zu\n", there);
    assert_true(there >= SERIES * 97 / 100);
}

/* Without an allowance 4 % of series have a false change point at a correlation of .5, 9 % at .8. */
static void correlated_runs_make_no_change_points(void **state)
{
    static const double rho[] = {0.3, 0.5, 0.8};
    for (size_t i = 0; i < sizeof rho / sizeof *rho; i++) {
        size_t any, found, there;
        count(rho[i], RUNS, 0, &any, &there);
        count(rho[i], RUNS - 14, 0.10, &found, &there);
        print_message("correlation %.1f: flat %.1f %%, +10 %% after 14 runs found in %.1f %%\n", rho[i],
                      100.0 * (double)any / SERIES, 100.0 * (double)there / SERIES);
        assert_true(any <= SERIES * 3 / 100);
        assert_true(there >= SERIES * 80 / 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_false_alarms_and_most_change_points_found),
                                       cmocka_unit_test(correlated_runs_make_no_change_points)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pk_arena_free(&arena);
    return failed;
}
