/* Ceilings store: what the store knows of a device's ceilings, and when another repeat is wanted. */
#include "bench/client/ceilings_store.h"

#include "base/clock.h"
#include "bench/worker/replies.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OK(call) assert_int_equal(call, PK_OK)

static char path[64];
static struct pk_err err;
static struct pk_store *store;

static int open_store(void **state)
{
    snprintf(path, sizeof path, "/tmp/perfkit-ceilings-%d.db", getpid());
    return pk_store_open(path, PK_STORE_WRITE, NULL, &store, &err);
}

static int close_store(void **state)
{
    pk_store_close(store);
    return unlink(path);
}

static void add_values(const struct pk_ceiling_value *v, size_t n)
{
    OK(pk_store_ceilings(
        store, &(struct pk_ceiling_repeat){.machine = "{}", .device = "cpu", .values = v, .n_values = n},
        &err));
}

static void add_with_evidence(double flops, double memory, enum pk_evidence evidence)
{
    const struct pk_ceiling_value v[] = {{"fp32_flops_per_s", flops},
                                         {"exp_per_s", 3},
                                         {"memory_bytes_per_s", memory, evidence},
                                         {"copy_bytes_per_s", 2, evidence},
                                         {"cache_bytes", 5}};
    add_values(v, sizeof v / sizeof *v);
}

static void add(double flops, double memory)
{
    add_with_evidence(flops, memory, PK_EVIDENCE_FLAT);
}

static struct pk_stored_ceilings known(const char *key)
{
    struct pk_stored_ceilings k;
    OK(pk_ceilings_stored(store, "{}", key, &k, &err));
    return k;
}

static void nothing_is_known_at_first(void **state)
{
    add(100, 10);
    struct pk_stored_ceilings other = known("cpu 1 thread");
    assert_false(other.found);
    assert_true(pk_ceilings_wanting(&other, (int64_t)pk_wall_ns()));
}

static void each_rate_is_the_highest_of_its_own(void **state)
{
    add(100, 20);
    add(200, 10);
    struct pk_stored_ceilings k = known("cpu");
    assert_true(k.found && k.top.fp32_flops_per_s == 200 && k.top.memory_bytes_per_s == 20 &&
                k.top.exp_per_s == 3 && k.top.copy_bytes_per_s == 2 && k.top.cache_bytes == 5);
    assert_string_equal(k.doubtful, "fp32_flops_per_s, memory_bytes_per_s");
    add(199, 1);
    k = known("cpu");
    assert_string_equal(k.doubtful, "memory_bytes_per_s");
    add(1, 20);
    k = known("cpu");
    assert_string_equal(k.doubtful, "");
}

static void a_repeat_is_wanted_once_a_day_and_while_in_doubt(void **state)
{
    const int64_t hour = 3600 * (int64_t)PK_NS_PER_S, now = (int64_t)pk_wall_ns();
    add(100, 10);
    struct pk_stored_ceilings k = known("cpu");
    assert_true(*k.doubtful && pk_ceilings_wanting(&k, now));
    add(100, 10);
    k = known("cpu");
    assert_false(pk_ceilings_wanting(&k, now));
    assert_false(pk_ceilings_wanting(&k, now + 23 * hour));
    assert_true(pk_ceilings_wanting(&k, now + 25 * hour));
}

/* Of tensor cores: known where there are some, and then as doubtful as any other. */
static void a_rate_of_some_devices(void **state)
{
    const struct pk_ceiling_value v = {"bf16_flops_per_s", 7};
    add(100, 10);
    add(100, 10);
    assert_true(known("cpu").found && known("cpu").top.bf16_flops_per_s == 0 && !*known("cpu").doubtful);
    add_values(&v, 1);
    assert_true(known("cpu").found && known("cpu").top.bf16_flops_per_s == 7);
    assert_string_equal(known("cpu").doubtful, "bf16_flops_per_s");
}

static void rates_that_there_are_not_are_not_told(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_ceilings c = {1, 2, 3, 4, 5, 0, 7};
    const struct pk_curves none = {0};
    struct pk_slice slice;
    pk_ceilings_slice(&c, &none, &a, &slice);
    assert_true(slice.n_metrics == 6 && slice.n_series == 6);
    assert_string_equal(slice.metrics[slice.series[5].metric].name, "bf16_flops_per_s");
    assert_true(slice.series[5].real[0] == 7);
}

/* What was measured at one size stays usable, and is measured again at once; what is limited is not, and is replaced by what is proved. */
static void a_rate_of_one_size(void **state)
{
    const int64_t now = (int64_t)pk_wall_ns();
    add_with_evidence(100, 104, PK_EVIDENCE_ONE_SIZE);
    add_with_evidence(100, 104, PK_EVIDENCE_ONE_SIZE);
    struct pk_stored_ceilings k = known("cpu");
    assert_true(k.found && k.top.memory_bytes_per_s == 104 && k.evidence == PK_EVIDENCE_ONE_SIZE);
    assert_true(!*k.doubtful && pk_ceilings_wanting(&k, now));
    add_with_evidence(100, 60, 29);
    add_with_evidence(100, 60, 29);
    k = known("cpu");
    assert_true(k.top.memory_bytes_per_s == 60 && k.evidence == 29 && !pk_ceilings_wanting(&k, now));
    add(100, 40);
    k = known("cpu");
    assert_true(k.top.memory_bytes_per_s == 40 && k.evidence == PK_EVIDENCE_FLAT);
}

/* Levels do not decide whether the host was busy. */
static void rates_of_levels(void **state)
{
    const struct pk_ceiling_value v[] = {{"l2_bytes", 2 << 20, PK_EVIDENCE_FLAT},
                                         {"l2_bytes_per_s", 300, PK_EVIDENCE_FLAT},
                                         {"between_bytes", 1e9, PK_EVIDENCE_FLAT},
                                         {"between_bytes_per_s", 70, PK_EVIDENCE_FLAT}};
    add(100, 40);
    add(100, 40);
    add_values(v, sizeof v / sizeof *v);
    struct pk_stored_ceilings k = known("cpu");
    assert_true(k.found && !*k.doubtful);
    assert_true(pk_ceilings_bandwidth(&k.top, 1000) == 300 && pk_ceilings_bandwidth(&k.top, 3e6) == 70);
    assert_true(pk_ceilings_bandwidth(&k.top, 2e9) == 40);
}

static void curves_over_the_wire(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_ceilings c = {1, 2, 3, 4, 5}, back;
    struct pk_curves curves = {.n = 2}, read;
    struct pk_slice slice;
    c.level[PK_LEVEL_L2] = (struct pk_level_rate){6, 7, 8};
    for (size_t i = 0; i < 2; i++)
        curves.v[i] = (struct pk_curve){.lanes = 2 - (unsigned)i,
                                        .n = 2,
                                        .stop = PK_CURVE_NO_TIME,
                                        .points = {{(size_t)1 << 33, PK_LEVEL_L2, {1.5, 2, 3, 4}},
                                                   {(size_t)1 << 34, PK_LEVEL_MEMORY, {5}}}};
    pk_ceilings_slice(&c, &curves, &a, &slice);
    OK(pk_ceilings_of_slice(&slice, &back, &read, &err));
    assert_memory_equal(&back.level[PK_LEVEL_L2], &c.level[PK_LEVEL_L2], sizeof *c.level);
    assert_memory_equal(&read, &curves, sizeof read);
    static const char *const wrong[] = {"[[1,9,[]]]",      "[[0,0,[]]]", "[[1,0,[[0,1,2,2,2,2]]]]",
                                        "[[1,0,[[5,7]]]]", "[1]",        "[[1,0,[]],[1,0,[]],[1,0,[]]]"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        slice.notes = &(struct pk_note){"curves", wrong[i]};
        assert_int_equal(pk_ceilings_of_slice(&slice, &back, &read, &err), PK_E_INTERNAL);
    }
}

static void a_rate_that_older_repeats_lack_is_missing(void **state)
{
    const struct pk_ceiling_value old[] = {{"fp32_flops_per_s", 1}, {"cache_bytes", 5}};
    add_values(old, 2);
    assert_false(known("cpu").found);
    add(1, 1);
    assert_true(known("cpu").found);
}

/* The worker is this program again, and never answers. What the store has is used, and said to be old. */
static void a_limit_is_an_error_only_without_ceilings(void **state)
{
    const struct pk_device_options opt = {0};
    struct pk_stored_ceilings got = {0};
    const uint64_t began = pk_clock_ns(), limit = 50 * PK_NS_PER_MS;
    assert_int_equal(pk_ceilings_repeat(store, "{}", "cpu", &opt, limit, NULL, &err), PK_E_TIMEOUT);
    assert_string_equal(err.what, "the ceilings of cpu were not measured in 50ms");
    assert_int_equal(pk_ceilings_refresh(store, "{}", "cpu", &opt, limit, NULL, &got, &err), PK_E_TIMEOUT);
    assert_false(got.late);
    add(100, 10);
    OK(pk_ceilings_refresh(store, "{}", "cpu", &opt, limit, NULL, &got, &err));
    assert_true(got.late && got.found && got.top.fp32_flops_per_s == 100);
    assert_true(pk_clock_ns() - began < 10 * PK_NS_PER_S);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "worker"))
        return pause();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_known_at_first, open_store, close_store),
        cmocka_unit_test_setup_teardown(each_rate_is_the_highest_of_its_own, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_repeat_is_wanted_once_a_day_and_while_in_doubt, open_store,
                                        close_store),
        cmocka_unit_test_setup_teardown(a_rate_of_some_devices, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_rate_of_one_size, open_store, close_store),
        cmocka_unit_test_setup_teardown(rates_of_levels, open_store, close_store),
        cmocka_unit_test(curves_over_the_wire),
        cmocka_unit_test(rates_that_there_are_not_are_not_told),
        cmocka_unit_test_setup_teardown(a_rate_that_older_repeats_lack_is_missing, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_limit_is_an_error_only_without_ceilings, open_store, close_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
