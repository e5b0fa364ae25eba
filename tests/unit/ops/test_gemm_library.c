/* Gemm library: a shape's library is tried once, told, taken from those who tried before; products are right by either. */
#include "device/choices.h"
#include "device/cpu/cpu.h"
#include "op_checks.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pk_device dev;
static struct trial trial = {.dev = &dev, .label = "chosen"};

/* Large enough to be tried; with several rows of tiles in bf16. */
static const struct pk_gemm large = {.m = 130, .n = 260, .k = 250, .batch = 1, .alpha = 1, .tb = PK_T};

struct told {
    int choices, warnings;
    char key[PK_CHOICE_KEY_MAX + sizeof PK_CHOICE_PREFIX], value[PK_CHOICE_VALUE_MAX + 1];
};

static void take(void *user, const char *key, const char *value)
{
    struct told *t = user;
    if (!strncmp(key, PK_CHOICE_PREFIX, strlen(PK_CHOICE_PREFIX))) {
        t->choices++;
        snprintf(t->key, sizeof t->key, "%s", key + strlen(PK_CHOICE_PREFIX));
        snprintf(t->value, sizeof t->value, "%s", value);
    }
    t->warnings += !strcmp(key, "choice_warning");
}

static struct told told(void)
{
    struct told t = {0};
    pk_choices_report(&dev, take, &t);
    return t;
}

static void open_device(void)
{
    struct pk_err err = {0};
    if (pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = 2, .limit_bytes = 1 << 30}, &err))
        fail_msg("%s: %s", err.what, err.why);
}

static bool two_libraries(void)
{
    setenv("PERFKIT_BF16", "widened", 1);
    open_device();
    const bool two = pk_cpu_other_blas(&dev);
    pk_device_close(&dev);
    if (!two)
        printf("skipped: one BLAS library is all there is\n");
    return two;
}

static void a_shape_is_tried_once(void **state)
{
    open_device();
    check_gemm_shape(&trial, large);
    const struct told first = told();
    assert_int_equal(first.choices, 1);
    assert_true(!strcmp(first.value, "openblas") || !strcmp(first.value, "onednn"));
    assert_non_null(strstr(first.key, "130x260x250 b1 NT fp32>fp32 t2"));
    assert_true(strstr(first.key, "openblas ") && strstr(first.key, "onednn "));
    check_gemm_shape(&trial, large);
    assert_int_equal(told().choices, 0);
    pk_device_close(&dev);
}

/* Which library made it shows in the last bits: the same as by that library alone. */
static void a_given_choice_is_taken(void **state)
{
    enum { M = 256, N = 256, K = 256 };
    static float a[M * K], b[K * N], chosen[M * N], alone[M * N];
    static const char *const names[] = {"openblas", "onednn"};
    const struct pk_gemm g = {M, N, K, 1, PK_N, PK_N, 1, 0, a, b, chosen, PK_FP32, PK_FP32, PK_MATH_IEEE};
    for (size_t i = 0; i < M * K; i++)
        a[i] = pk_fill_value(1, i), b[i] = pk_fill_value(2, i);
    open_device();
    assert_int_equal(pk_op_gemm(&dev, &g, &trial.err), PK_OK);
    const struct told t = told();
    pk_device_close(&dev);
    for (size_t i = 0; i < 2; i++) {
        struct pk_gemm other = g;
        other.c = alone;
        open_device();
        pk_choice_give(&dev, t.key, names[i]);
        assert_int_equal(pk_op_gemm(&dev, &g, &trial.err), PK_OK);
        assert_int_equal(told().choices, 0);
        pk_device_close(&dev);
        setenv("PERFKIT_BLAS", names[i], 1);
        open_device();
        assert_int_equal(pk_op_gemm(&dev, &other, &trial.err), PK_OK);
        assert_int_equal(told().choices, 0);
        pk_device_close(&dev);
        unsetenv("PERFKIT_BLAS");
        assert_memory_equal(chosen, alone, sizeof alone);
    }
}

static void what_is_no_library_is_chosen_anew(void **state)
{
    open_device();
    check_gemm_shape(&trial, large);
    const struct told first = told();
    pk_device_close(&dev);
    open_device();
    pk_choice_give(&dev, first.key, "mkl");
    check_gemm_shape(&trial, large);
    const struct told t = told();
    assert_true(t.choices == 1 && t.warnings == 1);
    pk_device_close(&dev);
}

/* A product that adds to C cannot be done twice, a small one says nothing about libraries. */
static void some_are_not_tried(void **state)
{
    struct pk_gemm adding = large, small = large;
    adding.beta = 0.5f;
    small.k = 10;
    open_device();
    check_gemm_shape(&trial, adding);
    check_gemm_shape(&trial, small);
    assert_int_equal(told().choices, 0);
    pk_device_close(&dev);
}

static void widened_products_are_tried_too(void **state)
{
    struct pk_gemm g = large;
    g.ab_type = g.c_type = PK_BF16;
    open_device();
    check_gemm_shape(&trial, g);
    const struct told t = told();
    assert_int_equal(t.choices, 1);
    assert_non_null(strstr(t.key, "bf16>bf16"));
    pk_device_close(&dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shape_is_tried_once),
        cmocka_unit_test(a_given_choice_is_taken),
        cmocka_unit_test(what_is_no_library_is_chosen_anew),
        cmocka_unit_test(some_are_not_tried),
        cmocka_unit_test(widened_products_are_tried_too),
    };
    if (!two_libraries())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
