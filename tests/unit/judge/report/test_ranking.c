/* Ranking: equal commands are rarely told apart, however many there are; and the fastest is found among different ones. */
#include "judge/report/ranking.h"

#include "base/rng.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

enum { MOST = 5, ROUNDS = 20 };

static const char *const axes[MOST] = {"{\"command\":\"a\"}", "{\"command\":\"b\"}", "{\"command\":\"c\"}",
                                       "{\"command\":\"d\"}", "{\"command\":\"e\"}"};

/* k commands in rounds that share what slows the machine, with 1 % of noise of their own; command i takes 1 + i * step times as long. */
static size_t rank(struct pk_rng *r, size_t k, double step, struct pk_arena *a, struct pk_ranked **ranked)
{
    struct pk_figures v[MOST];
    double *figure = pk_new_n(a, double, MOST *ROUNDS);
    int64_t *invocation = pk_new_n(a, int64_t, ROUNDS);
    for (size_t round = 0; round < ROUNDS; round++) {
        const double shared = exp(0.05 * pk_rng_normal(r));
        invocation[round] = (int64_t)round + 1;
        for (size_t i = 0; i < k; i++)
            figure[i * ROUNDS + round] = 1e8 * (1 + (double)i * step) * shared * exp(0.01 * pk_rng_normal(r));
    }
    for (size_t i = 0; i < k; i++)
        v[k - 1 - i] = (struct pk_figures){.experiment = "exec",
                                           .revision = 1,
                                           .variant = "program",
                                           .device = "cpu",
                                           .axes = axes[i],
                                           .identity = axes[i],
                                           .metric = "wall_ns",
                                           .unit = "ns",
                                           .direction = "lower",
                                           .class = "time",
                                           .median = figure[i * ROUNDS],
                                           .n = ROUNDS,
                                           .figure = figure + i * ROUNDS,
                                           .invocation = invocation};
    return pk_rank(v, k, a, ranked);
}

/* In how many of so many runs of k equal commands any two are told apart. */
static size_t false_claims(size_t k, size_t runs)
{
    struct pk_rng r = {k};
    size_t claims = 0;
    for (size_t run = 0; run < runs; run++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        struct pk_ranked *ranked;
        bool any = false;
        assert_int_equal(rank(&r, k, 0, &a, &ranked), k - 1);
        for (size_t i = 0; i < k - 1; i++)
            any |= ranked[i].told_apart;
        claims += any;
    }
    print_message("%zu of %zu runs of %zu equal commands tell some apart\n", claims, runs, k);
    return claims;
}

static void equal_commands_are_rarely_told_apart(void **state)
{
    assert_in_range(false_claims(2, 2000), 60, 140); /* 5 % */
    assert_in_range(false_claims(3, 2000), 20, 125);
    assert_in_range(false_claims(5, 2000), 10, 125);
}

static void different_commands_are_sorted(void **state)
{
    struct pk_rng r = {7};
    for (size_t run = 0; run < 200; run++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        struct pk_ranked *ranked;
        assert_int_equal(rank(&r, MOST, 0.05, &a, &ranked), MOST - 1);
        for (size_t i = 0; i < MOST - 1; i++) {
            const double ratio = ranked[i].row->ratio.ratio;
            assert_string_equal(ranked[i].fastest, "a");
            assert_true(ranked[i].told_apart && fabs(ratio - 1 - 0.05 * (double)(i + 1)) < 0.03);
            assert_true(strstr(ranked[i].sentence, " slower than a") != NULL);
        }
    }
}

static void one_command_has_no_ranking(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rng r = {1};
    struct pk_ranked *ranked;
    assert_int_equal(rank(&r, 1, 0, &a, &ranked), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_commands_are_rarely_told_apart),
        cmocka_unit_test(different_commands_are_sorted),
        cmocka_unit_test(one_command_has_no_ranking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
