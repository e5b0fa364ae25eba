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

static void are_plausible(void **state)
{
    struct pk_ceilings c;
    assert_int_equal(pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = 2}, &err), PK_OK);
    assert_int_equal(pk_ceilings_measure(&dev, &c, &err), PK_OK);
    assert_true(c.fp32_flops_per_s > 1e8 && c.fp32_flops_per_s < 1e13);
    assert_true(c.exp_per_s > 1e6 && c.exp_per_s < 1e12);
    assert_true(c.memory_bytes_per_s > 1e8 && c.memory_bytes_per_s < 1e13);
    assert_true(c.copy_bytes_per_s > 1e8 && c.copy_bytes_per_s < 1e13);
    assert_true(c.cache_bytes >= 1 << 18);
    assert_true(c.tf32_flops_per_s == 0 && c.bf16_flops_per_s >= c.fp32_flops_per_s);
    assert_int_equal(dev.pool.current, 0);
    pk_device_close(&dev);
}

static void a_small_pool_is_oom(void **state)
{
    struct pk_ceilings c;
    struct pk_device_options opt = {.threads = 1, .limit_bytes = 8 << 20};
    assert_int_equal(pk_device_open(&dev, "cpu", &opt, &err), PK_OK);
    assert_int_equal(pk_ceilings_measure(&dev, &c, &err), PK_E_OOM);
    assert_int_equal(dev.pool.current, 0);
    pk_device_close(&dev);
}

/* By oneDNN, whatever the CPU has. */
static void products_of_bf16(void **state)
{
    struct pk_ceilings c;
    setenv("PERFKIT_BF16", "onednn", 1);
    assert_int_equal(pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = 1}, &err), PK_OK);
    assert_int_equal(pk_ceilings_measure(&dev, &c, &err), PK_OK);
    assert_true(c.bf16_flops_per_s >= c.fp32_flops_per_s && c.bf16_flops_per_s < 1e14);
    assert_int_equal(dev.pool.current, 0);
    pk_device_close(&dev);
    unsetenv("PERFKIT_BF16");
}

static void the_null_device_has_its_declared_rates(void **state)
{
    struct pk_ceilings c;
    assert_int_equal(pk_device_open(&dev, "null", &(struct pk_device_options){0}, &err), PK_OK);
    assert_int_equal(pk_ceilings_measure(&dev, &c, &err), PK_OK);
    assert_float_equal(c.fp32_flops_per_s, PK_NULL_FLOPS_PER_NS * 1e9, 0);
    assert_float_equal(c.tf32_flops_per_s, PK_NULL_FLOPS_PER_NS * 1e9, 0);
    assert_float_equal(c.bf16_flops_per_s, PK_NULL_FLOPS_PER_NS * 1e9, 0);
    assert_float_equal(c.memory_bytes_per_s, PK_NULL_BYTES_PER_NS * 1e9, 0);
    assert_float_equal(c.copy_bytes_per_s, PK_NULL_BYTES_PER_NS * 1e9, 0);
    pk_device_close(&dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_plausible),
        cmocka_unit_test(a_small_pool_is_oom),
        cmocka_unit_test(products_of_bf16),
        cmocka_unit_test(the_null_device_has_its_declared_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
