/* Measuring a case on the null device while its n-th sync or copy fails: the slice failed and says so, nothing of the case is left on the
 * device, and the next case is measured. */
#include "bench/measure/measure.h"

#include "base/clock.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

enum { ENOUGH = 10000 };

/* The null device's row, but for two hooks. */
static const struct pk_device_ops *real;
static struct pk_device_ops faulty;
static unsigned long fail_at; /* calls until one fails; 0 = none will */

static bool fault_due(struct pk_err *err)
{
    if (!fail_at || --fail_at)
        return false;
    pk_fail(err, PK_E_INTERNAL, "device null: a call failed");
    pk_why(err, "this test asked for it");
    return true;
}

static enum pk_code faulty_sync(struct pk_device *dev, struct pk_err *err)
{
    return fault_due(err) ? err->code : real->sync(dev, err);
}

static enum pk_code faulty_copy(struct pk_device *dev, enum pk_lane lane, enum pk_copy dir, void *dst,
                                const void *src, size_t bytes, struct pk_err *err)
{
    return fault_due(err) ? err->code : real->copy(dev, lane, dir, dst, src, bytes, err);
}

static struct pk_slice measure(struct pk_device *dev, struct pk_arena *a)
{
    const struct pk_probe *p = pk_probe_find("selftest");
    const struct pk_case c = {.probe = p, .at = {.axes = p->axes, .n = 2, .v = {{.i = 100000}, {.i = 4096}}}};
    const struct pk_measure m = {.c = &c,
                                 .dev = dev,
                                 .invocation = 1,
                                 .check = true,
                                 .seed = 1,
                                 .stop = {.min_samples = 5,
                                          .max_samples = 40,
                                          .min_time_ns = PK_NS_PER_MS,
                                          .max_time_ns = 2 * PK_NS_PER_MS,
                                          .max_noise = 0.005,
                                          .warmup = -1}};
    struct pk_slice s;
    pk_measure_case(&m, a, &s);
    return s;
}

static void a_device_call_fails(void **state)
{
    struct pk_device dev;
    struct pk_err err;
    const struct pk_device_options options = {0};
    unsigned long n = 1;
    assert_int_equal(pk_device_open(&dev, "null", &options, &err), PK_OK);
    real = dev.ops;
    faulty = *real;
    faulty.sync = faulty_sync;
    faulty.copy = faulty_copy;
    dev.ops = &faulty;
    for (bool failed = true; failed; n++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        fail_at = n;
        struct pk_slice s = measure(&dev, &a);
        failed = fail_at == 0;
        assert_int_equal(s.status, failed ? PK_ST_FAILED : PK_ST_OK);
        assert_true(!failed || strstr(s.message, "device null: a call failed"));
        assert_int_equal(dev.pool.current, 0);
        fail_at = 0;
        assert_int_equal(measure(&dev, &a).status, PK_ST_OK);
        assert_true(n < ENOUGH);
    }
    assert_true(n > 8); /* the first iteration, five samples, some check points */
    pk_device_close(&dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_device_call_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
