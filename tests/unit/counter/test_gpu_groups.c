/* GPU groups planned by the real CUPTI, whose Host functions need no GPU: every name exists, and the passes are those promised. */
#include "counter/cuda/cupti.h"
#include "counter/group.h"
#include "counter/sources.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct pk_arena arena;
static struct pk_err err;

static int free_arena(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

static const struct group_passes {
    const char *group;
    unsigned passes; /* on GH100, as CUPTI 13.0 plans them */
} expected[] = {{"gpu-lite", 1},   {"gpu-roof", 2}, {"gpu-cache", 2},
                {"gpu-tensor", 7}, {"gpu-mem", 2},  {"gpu-link", 1}};

/* The events of a group that the chip has, as one plan. */
static unsigned passes_of(const struct pk_counter_env *env, const struct pk_group *g, size_t *counted)
{
    const char **names = pk_new_n(&arena, const char *, g->n_events);
    const struct pk_source_plan *plans;
    size_t n = 0, n_plans;
    for (size_t i = 0; i < g->n_events; i++) {
        const enum pk_code rc = pk_source_gpu_counters.plan(&pk_source_gpu_counters, env, &g->events[i], 1,
                                                            &arena, &plans, &n_plans, &err);
        if (!rc)
            names[n++] = g->events[i];
        else if (rc != PK_E_UNAVAILABLE || i < g->n_required)
            fail_msg("%s on %s: %s: %s", g->name, env->chip, err.what, err.why);
    }
    *counted = n;
    if (pk_source_gpu_counters.plan(&pk_source_gpu_counters, env, names, n, &arena, &plans, &n_plans, &err))
        fail_msg("%s on %s: %s: %s", g->name, env->chip, err.what, err.why);
    assert_int_equal(n_plans, 1);
    assert_int_equal(plans[0].n, n);
    return plans[0].passes;
}

static void groups_have_their_passes(void **state)
{
    const struct pk_cupti *real;
    const struct pk_group *groups;
    const size_t n_groups = pk_groups(&arena, &groups);
    const struct pk_counter_env none = {0};
    if (pk_cupti_open(&none, &arena, &real, &err)) {
        print_message("no CUPTI: %s\n", err.why);
        skip();
    }
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
        const struct pk_group *g = NULL;
        for (size_t i = 0; i < n_groups; i++)
            g = !strcmp(groups[i].name, expected[k].group) ? &groups[i] : g;
        assert_non_null(g);
        static const char *const chips[] = {"GH100", "GA100", "GB100"};
        for (size_t c = 0; c < 3; c++) {
            const struct pk_counter_env env = {.cupti = real, .chip = chips[c]};
            size_t counted;
            const unsigned passes = passes_of(&env, g, &counted);
            print_message("%s on %s: %zu of %zu events, %u passes\n", g->name, chips[c], counted, g->n_events,
                          passes);
            if (c == 0) {
                assert_int_equal(counted, g->n_events);
                assert_int_equal(passes, expected[k].passes);
            } else {
                assert_in_range(passes, 1, expected[k].passes);
            }
        }
    }
}

static void a_chip_that_is_none(void **state)
{
    static const char *const two[] = {"gpu_dram_read_bytes", "gpu_occupancy"};
    const struct pk_source_plan *plans;
    const struct pk_cupti *real;
    const struct pk_counter_env none = {0};
    size_t n;
    if (pk_cupti_open(&none, &arena, &real, &err))
        skip();
    const struct pk_counter_env env = {.cupti = real, .chip = "ZX81"};
    assert_int_equal(
        pk_source_gpu_counters.plan(&pk_source_gpu_counters, &env, two, 2, &arena, &plans, &n, &err),
        PK_E_UNAVAILABLE);
    assert_string_equal(err.what, "planning counters of chip ZX81 does not work here");
    assert_non_null(strstr(err.why, "this CUPTI does not know the chip"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(groups_have_their_passes),
                                       cmocka_unit_test(a_chip_that_is_none)};
    return cmocka_run_group_tests(tests, NULL, free_arena);
}
