/* Rectangles on the CPU: every byte that should be copied or filled, no other, whatever the shapes and the cuts. */
#include "ops/ops.h"

#include "device/cpu/cpu.h"
#include "device/null.h"
#include "op_checks.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

static struct pk_err err;
static struct pk_device dev;
static struct trial trial = {.dev = &dev};

static void on_every_cpu(void (*test)(void))
{
    const int most = (int)pk_isa_detect();
    for (unsigned threads = 1; threads <= 2; threads++)
        for (int isa = most; isa >= (threads == 1 ? most : 0); isa--) {
            assert_int_equal(
                pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = threads}, &err), PK_OK);
            pk_cpu_lower_isa(&dev, (enum pk_isa)isa);
            trial.label = pk_isa_name((enum pk_isa)isa);
            test();
            pk_device_close(&dev);
        }
}

static void copies(void)
{
    check_copies(&trial, OPS_USUAL);
}

static void copies_of_every_shape(void **state)
{
    on_every_cpu(copies);
}

static void fills(void)
{
    check_fills(&trial);
}

static void fills_of_every_shape(void **state)
{
    on_every_cpu(fills);
}

/* The definition itself: another device, or a later version, must give these bits. */
static void numbers_stay_what_they_are(void **state)
{
    double sum = 0, squares = 0;
    enum { N = 100000 };
    assert_true(pk_fill_value(0, 0) == -1.0f);
    assert_true(pk_fill_value(1, 0) == 0x1.8882ap-1f);
    assert_true(pk_fill_value(42, 7) == 0x1.ade81cp-1f);
    assert_true(pk_fill_value(UINT64_MAX, (uint64_t)1 << 40) == -0x1.78e23p-3f);
    for (uint64_t i = 0; i < N; i++) {
        double x = pk_fill_value(42, i);
        assert_true(x >= -1 && x < 1);
        sum += x;
        squares += x * x;
    }
    assert_true(sum / N > -0.01 && sum / N < 0.01);
    assert_true(squares / N > 0.33 && squares / N < 0.337);
    assert_true(pk_fill_value(42, 1) != pk_fill_value(43, 1));
}

static void work_is_counted(void **state)
{
    const struct pk_copy2d c[] = {
        {.rows = 3, .row_bytes = 10}, {.rows = 0, .row_bytes = 10}, {.rows = 5, .row_bytes = 1}};
    const struct pk_fill f[] = {{.rows = 3, .cols = 7, .columns = 9},
                                {.rows = 0, .cols = 7},
                                {.rows = 2, .cols = 5, .columns = 5, .dtype = PK_BF16}};
    assert_true(pk_work_copy2d(c, 3).bytes == 2 * 35 && pk_work_copy2d(c, 3).flops == 0);
    assert_true(pk_work_fill(f, 2).bytes == 4 * 21 && pk_work_fill(f, 3).bytes == 4 * 21 + 2 * 10);
}

static void null_time_passes(void **state)
{
    struct pk_device null;
    assert_int_equal(pk_device_open(&null, "null", &(struct pk_device_options){0}, &err), PK_OK);
    char *p = pk_device_alloc(&null, 1 << 20, PK_TAG_OTHER);
    const struct pk_copy2d c = {p, p + (1 << 19), 512, 1024, 1024, 1024};
    const struct pk_fill f = {p, 1024, 256, 256, 1, PK_FP32};
    uint64_t begin = pk_device_now_ns(&null);
    assert_int_equal(pk_op_copy2d(&null, &c, 1, &err), PK_OK);
    assert_int_equal(pk_device_now_ns(&null) - begin, (1 << 20) / PK_NULL_BYTES_PER_NS);
    assert_int_equal(pk_op_fill(&null, &f, 1, &err), PK_OK);
    assert_int_equal(pk_device_now_ns(&null) - begin, (2 << 20) / PK_NULL_BYTES_PER_NS);
    pk_device_free(&null, p);
    pk_device_close(&null);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_every_shape),      cmocka_unit_test(fills_of_every_shape),
        cmocka_unit_test(numbers_stay_what_they_are), cmocka_unit_test(work_is_counted),
        cmocka_unit_test(null_time_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
