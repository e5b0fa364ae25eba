/* Curve: how far the arrays grow, and what is said of the levels, on rates that are a function of the size. Nothing is timed. */
#include "ops/ceilings/ceilings.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

#include <stdint.h>

enum { KIB = 1024, MIB = 1024 * KIB };
static const size_t GIB = (size_t)1024 * MIB;

/* A machine: its rate by size, and what disturbs it. */
static struct machine {
    size_t hidden_bytes;       /* a cache behind those that it reports; 0 = none */
    double fall;               /* of memory's rate at each further size: 0.9 */
    size_t disturbed_bytes;    /* measurements of this size ... */
    unsigned disturbed, count; /* ... so many of which reach half; and how often it was measured */
    size_t room_bytes;         /* PK_E_OOM above; 0 = no limit */
    enum pk_code fails_with;   /* at disturbed_bytes */
} machine;

static double rate_of(size_t bytes)
{
    if (bytes <= 64 * KIB)
        return 400e9;
    if (bytes <= 2 * MIB)
        return 300e9;
    if (bytes <= 32 * MIB)
        return 200e9;
    if (bytes <= machine.hidden_bytes)
        return 104e9;
    double rate = 40e9;
    for (size_t at = 64 * MIB; machine.fall > 0 && at < bytes; at *= 2)
        rate *= machine.fall;
    return rate;
}

static enum pk_code measure(void *user, size_t bytes, double rate[PK_STREAMS], struct pk_err *err)
{
    double reached = rate_of(bytes);
    if (machine.room_bytes && bytes > machine.room_bytes)
        return pk_fail(err, PK_E_OOM, "no room");
    if (bytes == machine.disturbed_bytes && machine.fails_with)
        return pk_fail(err, machine.fails_with, "a device that broke");
    if (bytes == machine.disturbed_bytes && machine.count++ < machine.disturbed)
        reached /= 2;
    rate[PK_STREAM_UPDATE] = 500e9; /* in place: no ceiling, at whatever size */
    rate[PK_STREAM_TRIAD] = rate[PK_STREAM_TRIAD] > reached ? rate[PK_STREAM_TRIAD] : reached;
    rate[PK_STREAM_COPY] = reached / 2;
    return PK_OK;
}

static struct pk_err err;
static struct pk_curve curve;

static enum pk_code grow_within(size_t most_bytes, uint64_t time_ns)
{
    const struct pk_curve_source s = {.lanes = 2,
                                      .cache_bytes = {64 * KIB, 2 * MIB, 32 * MIB},
                                      .first_bytes = 32 * KIB,
                                      .least_bytes = 64 * MIB,
                                      .most_bytes = most_bytes,
                                      .time_ns = time_ns,
                                      .measure = measure};
    return pk_curve_grow(&s, &curve, &err);
}

static void grow(struct machine m)
{
    machine = m;
    assert_int_equal(grow_within(64 * GIB, UINT64_MAX / 2), PK_OK);
}

static size_t largest(void)
{
    return curve.points[curve.n - 1].bytes;
}

/* The smallest size whose level is memory. */
static size_t memory_from_bytes(void)
{
    size_t i = 0;
    while (curve.points[i].level != PK_LEVEL_MEMORY)
        i++;
    return curve.points[i].bytes;
}

static enum pk_memory_level level_at(size_t bytes)
{
    for (size_t i = 0; i < curve.n; i++)
        if (curve.points[i].bytes == bytes)
            return curve.points[i].level;
    fail_msg("no point of %zu bytes", bytes);
    return PK_LEVELS;
}

/* Three sizes, each at least four times the last cache. */
static void as_the_machine_reports(void **state)
{
    grow((struct machine){0});
    assert_true(curve.stop == PK_CURVE_FLAT && largest() == 512 * (size_t)MIB && curve.n == 15);
    assert_true(curve.memory_bytes_per_s == 40e9 && curve.copy_bytes_per_s == 20e9);
    assert_true(memory_from_bytes() == 64 * MIB);
    assert_int_equal(level_at(64 * KIB), PK_LEVEL_L1);
    assert_int_equal(level_at(128 * KIB), PK_LEVEL_L2);
    assert_int_equal(level_at(4 * MIB), PK_LEVEL_L3);
    assert_int_equal(level_at(32 * MIB), PK_LEVEL_L3);
    assert_int_equal(level_at(64 * MIB), PK_LEVEL_MEMORY);
}

/* An array of 85 MiB would have been in the cache of the host. */
static void a_cache_that_is_not_reported(void **state)
{
    static const size_t hidden[] = {96 * MIB, 256 * MIB, 384 * MIB};
    static const size_t memory_from[] = {128 * MIB, 512 * MIB, 512 * MIB};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        grow((struct machine){.hidden_bytes = hidden[i]});
        assert_true(curve.stop == PK_CURVE_FLAT && curve.memory_bytes_per_s == 40e9);
        assert_true(memory_from_bytes() == memory_from[i] && largest() >= 4 * memory_from[i]);
        assert_int_equal(level_at(64 * MIB), PK_LEVEL_BETWEEN);
        assert_int_equal(level_at(memory_from[i]), PK_LEVEL_MEMORY);
    }
}

static void a_rate_that_never_is_flat(void **state)
{
    machine = (struct machine){.fall = 0.9};
    assert_int_equal(grow_within(2 * GIB, UINT64_MAX / 2), PK_OK);
    assert_true(curve.stop == PK_CURVE_NO_ROOM && largest() == 2 * GIB);
    assert_true(curve.memory_bytes_per_s == rate_of(2 * GIB) && memory_from_bytes() == 2 * GIB);
    assert_int_equal(level_at(1 * GIB), PK_LEVEL_BETWEEN);
}

/* 2 % at each size: 4 % over three. */
static void a_slow_fall_is_flat(void **state)
{
    grow((struct machine){.fall = 0.98});
    assert_true(curve.stop == PK_CURVE_FLAT && largest() == 512 * (size_t)MIB);
    assert_true(curve.memory_bytes_per_s == rate_of(128 * MIB));
}

/* A disturbed size is measured once more before the array grows. */
static void noise(void **state)
{
    static const size_t sizes[] = {128 * MIB, 256 * MIB, 512 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        grow((struct machine){.disturbed_bytes = sizes[i], .disturbed = 1});
        assert_true(curve.stop == PK_CURVE_FLAT && largest() == 512 * (size_t)MIB && machine.count == 2);
        assert_true(curve.memory_bytes_per_s == 40e9);
        /* one that stays disturbed leaves the window at last */
        grow((struct machine){.disturbed_bytes = sizes[i], .disturbed = 9});
        assert_true(curve.stop == PK_CURVE_FLAT && largest() == 8 * sizes[i]);
        assert_true(curve.memory_bytes_per_s == 40e9);
    }
}

/* What is known is that of the largest size. */
static void limits(void **state)
{
    machine = (struct machine){0};
    assert_int_equal(grow_within(256 * MIB, UINT64_MAX / 2), PK_OK);
    assert_true(curve.stop == PK_CURVE_NO_ROOM && largest() == 256 * MIB && curve.memory_bytes_per_s == 40e9);
    machine = (struct machine){.room_bytes = 100 * MIB};
    assert_int_equal(grow_within(64 * GIB, UINT64_MAX / 2), PK_OK);
    assert_true(curve.stop == PK_CURVE_NO_ROOM && largest() == 64 * MIB);
    machine = (struct machine){0};
    assert_int_equal(grow_within(64 * GIB, 0), PK_OK);
    assert_true(curve.stop == PK_CURVE_NO_TIME && largest() == 32 * MIB && curve.memory_bytes_per_s == 200e9);
    machine = (struct machine){.room_bytes = 16 * KIB};
    assert_int_equal(grow_within(64 * GIB, 0), PK_E_OOM);
    machine = (struct machine){.disturbed_bytes = 1 * MIB, .fails_with = PK_E_INTERNAL};
    assert_int_equal(grow_within(64 * GIB, 0), PK_E_INTERNAL);
}

static void rates_of_levels(void **state)
{
    static const double caches[PK_LEVEL_BETWEEN] = {64 * KIB, 2 * MIB, 32 * MIB};
    struct pk_ceilings c = {0};
    grow((struct machine){.hidden_bytes = 96 * MIB});
    pk_ceilings_of_curve(&curve, caches, &c);
    assert_true(c.memory_bytes_per_s == 40e9 && c.copy_bytes_per_s == 20e9);
    static const struct {
        double bytes, rate;
    } cases[] = {{1, 400e9},        {64 * KIB, 400e9}, {64 * KIB + 1, 300e9},
                 {2 * MIB, 300e9},  {3 * MIB, 200e9},  {32 * MIB, 200e9},
                 {40 * MIB, 104e9}, {64 * MIB, 104e9}, {64 * MIB + 1, 40e9},
                 {1e12, 40e9},      {0, 40e9},         {-1, 40e9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(pk_ceilings_bandwidth(&c, cases[i].bytes) == cases[i].rate);
    const struct pk_ceilings old = {.memory_bytes_per_s = 7};
    assert_true(pk_ceilings_bandwidth(&old, 1) == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_machine_reports),
        cmocka_unit_test(a_cache_that_is_not_reported),
        cmocka_unit_test(a_rate_that_never_is_flat),
        cmocka_unit_test(a_slow_fall_is_flat),
        cmocka_unit_test(noise),
        cmocka_unit_test(limits),
        cmocka_unit_test(rates_of_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
