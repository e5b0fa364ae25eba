/* Devices and marks: names, the null device's fake clock, nested and repeated regions. */
#include "device/device.h"

#include "device/null.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

static struct pk_device dev;
static struct pk_err err;

static int open_null(void **state)
{
    const struct pk_device_options opt = {0};
    return pk_device_open(&dev, "null", &opt, &err);
}

static int close_null(void **state)
{
    pk_device_close(&dev);
    return 0;
}

static void names(void **state)
{
    enum pk_device_kind kind;
    unsigned ordinal;
    assert_int_equal(pk_device_parse("cpu", &kind, &ordinal, &err), PK_OK);
    assert_int_equal(kind, PK_DEVICE_CPU);
    assert_int_equal(pk_device_parse("cuda:3", &kind, &ordinal, &err), PK_OK);
    assert_int_equal(kind, PK_DEVICE_CUDA);
    assert_int_equal(ordinal, 3);
    static const char *const wrong[] = {
        "",        "cpux",      "cpu:1",           "cuda:",    "cuda:x",        "cuda:1x",         "gpu",
        "cuda:-1", "cuda:GPU-", "cuda:GPU-8f3a/1", "cuda:MIG", "cuda:GPU-8f,1", "cpu:GPU-8f3a10c2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(pk_device_parse(wrong[i], &kind, &ordinal, &err), PK_E_USAGE);
        assert_non_null(strstr(err.what, wrong[i]));
        assert_true(err.why[0] != '\0');
    }
    assert_null(getenv("CUDA_VISIBLE_DEVICES"));
    static const char *const uuids[] = {"GPU-8f3a10c2", "GPU-8f3a10c2-0b1c-4d5e-8f90-a1b2c3d4e5f6",
                                        "MIG-41b36413-fc77-5ade-b1ed-1b3f9a1d8e2c",
                                        "MIG-GPU-8f3a10c2-0b1c-4d5e-8f90-a1b2c3d4e5f6/1/0"};
    for (size_t i = 0; i < sizeof uuids / sizeof *uuids; i++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        assert_int_equal(pk_device_parse(pk_printf(&a, "cuda:%s", uuids[i]), &kind, &ordinal, &err), PK_OK);
        assert_int_equal(kind, PK_DEVICE_CUDA);
        assert_int_equal(ordinal, 0); /* the only one that is visible */
        assert_string_equal(getenv("CUDA_VISIBLE_DEVICES"), uuids[i]);
    }
    unsetenv("CUDA_VISIBLE_DEVICES");
    for (unsigned k = 0; k < PK_DEVICE_KINDS; k++) {
        assert_int_equal(pk_device_parse(pk_device_kinds[k]->kind, &kind, &ordinal, &err), PK_OK);
        assert_int_equal(kind, k);
    }
    assert_null(pk_device_kinds[PK_DEVICE_KINDS]);
}

static void unavailable_says_why(void **state)
{
    const struct pk_device_options opt = {0};
    for (unsigned k = 0; k < PK_DEVICE_KINDS; k++) {
        const char *reason = pk_device_unavailable(k);
        if (!reason)
            continue;
        struct pk_device other;
        assert_int_equal(pk_device_open(&other, pk_device_kinds[k]->kind, &opt, &err), PK_E_UNAVAILABLE);
        assert_string_equal(err.why, reason);
    }
    assert_null(pk_device_unavailable(PK_DEVICE_NULL));
}

static void fake_clock(void **state)
{
    assert_int_equal(pk_device_now_ns(&dev), 0);
    assert_int_equal(pk_device_now_ns(&dev), 0);
    pk_null_advance(&dev, 7);
    assert_int_equal(pk_device_now_ns(&dev), 7);
    pk_null_work(&dev, 2048, 1024, 0); /* 2 ns of flops hide 1 ns of bytes */
    assert_int_equal(pk_device_now_ns(&dev), 9);
    pk_null_work(&dev, 0, 1, 0); /* a part counts as one */
    assert_int_equal(pk_device_now_ns(&dev), 10);
    pk_null_work(&dev, 1024, 0, 512);
    assert_int_equal(pk_device_now_ns(&dev), 14);
    char host[4096];
    void *p = pk_device_alloc(&dev, sizeof host, PK_TAG_OTHER);
    assert_int_equal(pk_device_copy(&dev, PK_LANE_COPY, PK_COPY_HOST_TO_DEVICE, p, host, 4096, &err), PK_OK);
    assert_int_equal(pk_device_now_ns(&dev), 18);
    pk_device_delay(&dev, PK_LANE_COMPUTE, 100);
    assert_int_equal(pk_device_now_ns(&dev), 118);
    assert_int_equal(pk_device_sync(&dev, &err), PK_OK);
    pk_device_free(&dev, p);
}

static uint64_t time_of_thousand(uint64_t seed)
{
    struct pk_device d;
    const struct pk_device_options opt = {.seed = seed};
    assert_int_equal(pk_device_open(&d, "null", &opt, &err), PK_OK);
    for (int i = 0; i < 1000; i++)
        pk_null_advance(&d, 1000);
    uint64_t t = pk_device_now_ns(&d);
    pk_device_close(&d);
    return t;
}

static void noise_is_seeded(void **state)
{
    assert_int_equal(time_of_thousand(0), 1000000);
    uint64_t a = time_of_thousand(1), b = time_of_thousand(2);
    assert_int_equal(time_of_thousand(1), a);
    assert_true(a != b && a != 1000000);
    assert_in_range(a, 940000, 1060000);
}

static uint64_t lane_ns(size_t i)
{
    return pk_mark_lane_ns(&dev, &dev.marks.v[i]);
}

static void regions_nest_and_repeat(void **state)
{
    pk_marks_clear(&dev.marks);
    pk_mark_begin(&dev, 0, PK_LANE_COMPUTE);
    for (unsigned i = 1; i <= 3; i++) {
        pk_mark_begin(&dev, 1, PK_LANE_COMPUTE);
        pk_null_advance(&dev, 10 * i);
        pk_mark_end(&dev, 1, PK_LANE_COMPUTE);
    }
    pk_null_advance(&dev, 5);
    pk_mark_end(&dev, 0, PK_LANE_COMPUTE);
    assert_int_equal(dev.marks.n, 4);
    assert_int_equal(lane_ns(0), 65);
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(lane_ns(i), 10 * i);
        assert_int_equal(dev.marks.v[i].instance, i - 1);
    }
    pk_marks_next_repeat(&dev.marks);
    pk_mark_begin(&dev, 1, PK_LANE_COMPUTE);
    pk_mark_end(&dev, 1, PK_LANE_COMPUTE);
    assert_int_equal(dev.marks.v[4].instance, 0);
    assert_false(dev.marks.unbalanced || dev.marks.overflow);
}

static void regions_overlap_across_lanes(void **state)
{
    pk_marks_clear(&dev.marks);
    pk_mark_begin(&dev, 2, PK_LANE_COMPUTE);
    pk_null_advance(&dev, 1);
    pk_mark_begin(&dev, 2, PK_LANE_COMM);
    pk_null_advance(&dev, 2);
    pk_mark_end(&dev, 2, PK_LANE_COMPUTE);
    pk_null_advance(&dev, 4);
    pk_mark_end(&dev, 2, PK_LANE_COMM);
    assert_int_equal(lane_ns(0), 3);
    assert_int_equal(lane_ns(1), 6);
}

/* A device that records: lanes tell a time of their own, which the calling thread has not. */
static size_t recorded;

static void record(struct pk_device *d, enum pk_lane lane, size_t slot)
{
    recorded++;
}

static uint64_t elapsed_ns(struct pk_device *d, size_t from, size_t to)
{
    return 1000 * (to - from);
}

static void the_host_records_nothing(void **state)
{
    struct pk_device_ops recording = pk_device_null;
    recording.record = record;
    recording.elapsed_ns = elapsed_ns;
    dev.ops = &recording;
    pk_marks_init(&dev.marks, &dev.arena, 2, true);
    for (enum pk_lane lane = PK_LANE_COPY; lane <= PK_LANE_HOST; lane++) {
        pk_mark_begin(&dev, 0, lane);
        pk_null_advance(&dev, 7);
        pk_mark_end(&dev, 0, lane);
    }
    assert_int_equal(recorded, 2);
    assert_int_equal(lane_ns(0), 1000);
    assert_int_equal(lane_ns(1), 7);
    pk_marks_init(&dev.marks, &dev.arena, PK_MARKS_DEFAULT, false);
    dev.ops = &pk_device_null;
}

static void an_occurrence_can_be_many(void **state)
{
    pk_marks_clear(&dev.marks);
    pk_mark_begin(&dev, 0, PK_LANE_HOST);
    pk_mark_begin(&dev, 1, PK_LANE_HOST);
    pk_mark_end_n(&dev, 1, PK_LANE_HOST, 1000);
    pk_mark_end(&dev, 0, PK_LANE_HOST);
    assert_int_equal(dev.marks.v[0].reps, 1);
    assert_int_equal(dev.marks.v[1].reps, 1000);
}

static void mistakes_are_remembered(void **state)
{
    pk_marks_clear(&dev.marks);
    pk_mark_end(&dev, 0, PK_LANE_COMPUTE);
    assert_true(dev.marks.unbalanced);
    pk_marks_init(&dev.marks, &dev.arena, 1, false);
    for (int i = 0; i < 2; i++)
        pk_mark_begin(&dev, 0, PK_LANE_COMPUTE);
    assert_true(dev.marks.overflow);
    assert_int_equal(dev.marks.n, 1);
}

static void gauges(void **state)
{
    pk_marks_clear(&dev.marks);
    assert_int_equal(dev.marks.gauges, 0);
    void *p = pk_device_alloc(&dev, 1000, PK_TAG_OTHER);
    pk_mark_bytes(&dev, 3);
    pk_device_free(&dev, p);
    pk_mark_value(&dev, 5, INT64_MAX);
    assert_int_equal(dev.marks.gauges, 1 << 3 | 1 << 5);
    assert_int_equal(dev.marks.gauge[3], 1024);
    assert_int_equal(dev.marks.gauge[5], INT64_MAX);
}

static void marks_need_no_memory(void **state)
{
    pk_marks_clear(&dev.marks);
    pk_timed_region(true);
    for (int i = 0; i < 100; i++) {
        pk_mark_begin(&dev, 0, PK_LANE_COMPUTE);
        void *p = pk_device_alloc(&dev, 1 << 20, PK_TAG_OTHER);
        pk_mark_bytes(&dev, 0);
        pk_device_free(&dev, p);
        pk_mark_end(&dev, 0, PK_LANE_COMPUTE);
    }
    assert_true(pk_timed_region(false));
    assert_int_equal(dev.marks.n, 100);
}

#define ON_NULL(f) cmocka_unit_test_setup_teardown(f, open_null, close_null)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(unavailable_says_why),
        ON_NULL(fake_clock),
        cmocka_unit_test(noise_is_seeded),
        ON_NULL(regions_nest_and_repeat),
        ON_NULL(regions_overlap_across_lanes),
        ON_NULL(the_host_records_nothing),
        ON_NULL(an_occurrence_can_be_many),
        ON_NULL(mistakes_are_remembered),
        ON_NULL(gauges),
        ON_NULL(marks_need_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
