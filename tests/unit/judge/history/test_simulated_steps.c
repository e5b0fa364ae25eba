/* Steps in simulated series: how often a change is seen that is none, and how often one that is. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_false_alarms_and_most_steps_found)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pk_arena_free(&arena);
    return failed;
}
