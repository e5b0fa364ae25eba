/* Ceilings: plausible on the CPU, declared on the null device, and never leaking. */
#include "device/cpu/cpu.h"
#include "device/null.h"
#include "ops/ceilings/ceilings.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

#include <stdlib.h>

static struct pk_device dev;
static struct pk_err err;
static struct pk_curves curves;

/* Of arrays up to 64 MiB: larger ones, which prove that a curve is flat, take the kernel seconds to provide. */
static void are_plausible(void **state)
{
    struct pk_ceilings c;
    const struct pk_device_options opt = {.threads = 2, .limit_bytes = 128 << 20};
    assert_int_equal(pk_device_open(&dev, "cpu", &opt, &err), PK_OK);
    assert_int_equal(pk_ceilings_measure(&dev, true, &c, &curves, &err), PK_OK);
    assert_true(c.fp32_flops_per_s > 1e8 && c.fp32_flops_per_s < 1e13);
    assert_true(c.exp_per_s > 1e6 && c.exp_per_s < 1e12);
    assert_true(c.memory_bytes_per_s > 1e8 && c.memory_bytes_per_s < 1e13);
    assert_true(c.copy_bytes_per_s > 1e8 && c.copy_bytes_per_s < 1e13);
    assert_true(c.cache_bytes >= 1 << 18);
    assert_true(c.tf32_flops_per_s == 0 && c.bf16_flops_per_s >= c.fp32_flops_per_s);
    assert_int_equal(dev.pool.current, 0);
    assert_true(curves.n == 2 && curves.v[0].lanes == 2 && curves.v[1].lanes == 1);
    for (size_t i = 0; i < 2; i++) {
        const struct pk_curve *v = &curves.v[i];
        assert_true(v->n > 3 && v->points[0].bytes == v->lanes * (16 << 10));
        assert_int_equal(v->points[v->n - 1].level >= PK_LEVEL_BETWEEN,
                         v->points[v->n - 1].bytes > c.cache_bytes);
        for (size_t k = 0; k < v->n; k++)
            for (size_t s = 0; s < PK_STREAMS; s++)
                assert_true(v->points[k].rate[s] > 0);
    }
    pk_device_close(&dev);
}

/* Arrays grow to half of what there is, and the curve says so. */
static void a_small_pool_limits_the_curve(void **state)
{
    struct pk_ceilings c;
    struct pk_device_options opt = {.threads = 1, .limit_bytes = 8 << 20};
    setenv("PERFKIT_BF16", "widened", 1);
    assert_int_equal(pk_device_open(&dev, "cpu", &opt, &err), PK_OK);
    assert_int_equal(pk_ceilings_measure(&dev, true, &c, &curves, &err), PK_OK);
    assert_true(curves.n == 1 && curves.v[0].stop == PK_CURVE_NO_ROOM);
    assert_true(curves.v[0].points[curves.v[0].n - 1].bytes == 4 << 20);
    assert_true(c.memory_bytes_per_s == curves.v[0].memory_bytes_per_s && c.memory_bytes_per_s > 0);
    assert_int_equal(dev.pool.current, 0);
    pk_device_close(&dev);
    unsetenv("PERFKIT_BF16");
}

static void no_room_at_all_is_oom(void **state)
{
    struct pk_ceilings c;
    assert_int_equal(pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = 1}, &err), PK_OK);
    dev.pool.fail_at = 1;
    assert_int_equal(pk_ceilings_measure(&dev, false, &c, &curves, &err), PK_E_OOM);
    assert_int_equal(dev.pool.current, 0);
    pk_device_close(&dev);
}

/* By oneDNN, whatever the CPU has. */
static void products_of_bf16(void **state)
{
    struct pk_ceilings c;
    const struct pk_device_options opt = {.threads = 1, .limit_bytes = 16 << 20};
    setenv("PERFKIT_BF16", "onednn", 1);
    assert_int_equal(pk_device_open(&dev, "cpu", &opt, &err), PK_OK);
    assert_int_equal(pk_ceilings_measure(&dev, true, &c, &curves, &err), PK_OK);
    assert_true(c.bf16_flops_per_s >= c.fp32_flops_per_s && c.bf16_flops_per_s < 1e14);
    assert_int_equal(dev.pool.current, 0);
    pk_device_close(&dev);
    unsetenv("PERFKIT_BF16");
}

static void the_null_device_has_its_declared_rates(void **state)
{
    struct pk_ceilings c;
    assert_int_equal(pk_device_open(&dev, "null", &(struct pk_device_options){0}, &err), PK_OK);
    assert_int_equal(pk_ceilings_measure(&dev, true, &c, &curves, &err), PK_OK);
    assert_float_equal(c.fp32_flops_per_s, PK_NULL_FLOPS_PER_NS * 1e9, 0);
    assert_float_equal(c.tf32_flops_per_s, PK_NULL_FLOPS_PER_NS * 1e9, 0);
    assert_float_equal(c.bf16_flops_per_s, PK_NULL_FLOPS_PER_NS * 1e9, 0);
    assert_float_equal(c.memory_bytes_per_s, PK_NULL_BYTES_PER_NS * 1e9, 0);
    assert_float_equal(c.copy_bytes_per_s, PK_NULL_BYTES_PER_NS * 1e9, 0);
    assert_true(curves.n == 0 && pk_ceilings_bandwidth(&c, 1) == c.memory_bytes_per_s);
    pk_device_close(&dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_plausible),
        cmocka_unit_test(a_small_pool_limits_the_curve),
        cmocka_unit_test(no_room_at_all_is_oom),
        cmocka_unit_test(products_of_bf16),
        cmocka_unit_test(the_null_device_has_its_declared_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
