/* The CPU's ops against the fp64 reference: every instruction set this CPU has, odd shapes, few and many
 * problems, with and without a BLAS library. */
#include "device/cpu/cpu.h"
#include "op_checks.h"
#include "ops/cpu/kernels.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct pk_device dev;
static struct trial trial = {.dev = &dev};

static void open_device(unsigned threads)
{
    struct pk_err err = {0};
    if (pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = threads, .limit_bytes = 1 << 30},
                       &err))
        fail_msg("%s: %s", err.what, err.why);
    trial.label = pk_isa_name(pk_cpu_isa(&dev));
}

static void for_each_isa(void (*check)(void))
{
    for (int isa = (int)pk_isa_detect(); isa >= 0; isa--) {
        pk_cpu_lower_isa(&dev, (enum pk_isa)isa);
        trial.label = pk_isa_name((enum pk_isa)isa);
        check();
    }
}

static void gemm(void)
{
    check_gemm(&trial, &(struct pk_gemm){0}, OPS_USUAL);
}

static void gemm_matches(void **state)
{
    open_device(3);
    for_each_isa(gemm);
    pk_device_close(&dev);
    setenv("PERFKIT_BLAS", "own", 1);
    open_device(3);
    for_each_isa(gemm);
    assert_int_equal(pk_cpu_blas(&dev)->kind, PK_BLAS_OWN);
    pk_device_close(&dev);
    unsetenv("PERFKIT_BLAS");
}

static void gemm_bf16(void)
{
    check_gemm(&trial, &(struct pk_gemm){.ab_type = PK_BF16, .c_type = PK_BF16}, OPS_USUAL);
    check_gemm(&trial, &(struct pk_gemm){.ab_type = PK_BF16}, OPS_USUAL);
}

/* Tiles in both directions, the last of them smaller, and k in blocks. */
static void check_large_bf16(void)
{
    const struct pk_gemm g = {.m = 130, .n = 1030, .k = 520, .batch = 1, .alpha = 1, .beta = 0.5f};
    for (int kind = 0; kind < 4; kind++) {
        struct pk_gemm one = g;
        one.ab_type = PK_BF16, one.c_type = kind & 1 ? PK_BF16 : PK_FP32;
        one.ta = kind & 1 ? PK_T : PK_N, one.tb = kind & 2 ? PK_T : PK_N;
        check_gemm_shape(&trial, one);
    }
}

/* By both ways that there are, whichever this CPU would take. */
static void gemm_bf16_matches(void **state)
{
    setenv("PERFKIT_BF16", "widened", 1);
    open_device(3);
    for_each_isa(gemm_bf16);
    check_large_bf16();
    pk_device_close(&dev);
    setenv("PERFKIT_BF16", "onednn", 1);
    open_device(3);
    gemm_bf16();
    check_large_bf16();
    pk_device_close(&dev);
    unsetenv("PERFKIT_BF16");
}

/* What the CPU has not is refused, never computed in another way. */
static void other_products_are_refused(void **state)
{
    static const struct {
        enum pk_math math;
        const char *named;
    } rows[] = {{PK_MATH_TF32, "tf32"}, {PK_MATH_3XTF32, "3xtf32"}, {PK_MATH_FP16X3, "fp16x3"}};
    float x[1] = {1}, y[1] = {7};
    struct pk_attention at = {
        .batch = 1, .seq = 1, .dim = 1, .scale = 1, .q = x, .k = x, .v = x, .o = y, .p = y};
    at.d_o = x, at.dq = y, at.dk = y, at.dv = y, at.lse = y;
    open_device(1);
    struct pk_err *err = &trial.err;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct pk_gemm g = {
            .m = 1, .n = 1, .k = 1, .batch = 1, .alpha = 1, .a = x, .b = x, .c = y, .math = rows[i].math};
        assert_int_equal(pk_op_gemm(&dev, &g, err), PK_E_UNAVAILABLE);
        assert_non_null(strstr(err->what, rows[i].named));
        assert_true(err->why[0] && err->fix[0]);
        at.math = rows[i].math;
        assert_int_equal(pk_op_fused_forward(&dev, &at, err), PK_E_UNAVAILABLE);
        assert_int_equal(pk_op_fused_backward(&dev, &at, err), PK_E_UNAVAILABLE);
        assert_int_equal(pk_op_flash_forward(&dev, &at, err), PK_E_UNAVAILABLE);
        assert_int_equal(pk_op_flash_backward(&dev, &at, err), PK_E_UNAVAILABLE);
    }
    assert_true(y[0] == 7);
    pk_device_close(&dev);
}

static void check_exp(void)
{
    enum { N = 200003 };
    const struct pk_kernels *k = pk_kernels_of(pk_cpu_isa(&dev));
    float *x = pk_new_n(&trial.arena, float, N), *y = pk_new_n(&trial.arena, float, N);
    for (size_t i = 0; i < N; i++)
        x[i] = -87.3f + 175.3f * (float)i / N;
    k->exp(x, y, N);
    double worst = 0;
    for (size_t i = 0; i < N; i++)
        worst = fmax(worst, fabs(y[i] / exp((double)x[i]) - 1));
    if (worst > 2 * 0x1p-23)
        fail_msg("exp with %s: relative error %g", k->isa, worst);
    const float edge[3] = {-INFINITY, -1000, 0};
    k->exp(edge, y, 3);
    assert_true(y[0] == 0 && y[1] == 0 && y[2] == 1);
    const float none = NAN;
    k->exp(&none, y, 1);
    assert_true(isnan(y[0]));
    trial_end(&trial);
}

static void rows(void)
{
    for (int type = PK_FP32; type <= PK_BF16; type++) {
        check_softmax(&trial, (enum pk_dtype)type, OPS_USUAL);
        check_scale(&trial, (enum pk_dtype)type, OPS_USUAL);
        check_causal_mask(&trial, (enum pk_dtype)type, OPS_USUAL);
    }
}

static void rows_match(void **state)
{
    open_device(3);
    for_each_isa(check_exp);
    for_each_isa(rows);
    check_softmax_shape(&trial, PK_BF16, 2, 16391); /* exponentials of longer rows are made again */
    pk_device_close(&dev);
}

static void attention(void)
{
    check_fused(&trial, PK_FP32, PK_MATH_IEEE, OPS_USUAL);
    check_flash(&trial, PK_FP32, PK_MATH_IEEE, OPS_USUAL);
}

/* Around the same kernels. */
static void attention_bf16(void)
{
    check_fused(&trial, PK_BF16, PK_MATH_IEEE, OPS_TINY);
    check_flash(&trial, PK_BF16, PK_MATH_IEEE, OPS_TINY);
}

static void attention_matches(void **state)
{
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        open_device(threads);
        if (threads == 3)
            for_each_isa(attention);
        else
            attention();
        attention_bf16();
        pk_device_close(&dev);
    }
    setenv("PERFKIT_BLAS", "own", 1);
    open_device(5);
    attention();
    pk_device_close(&dev);
    unsetenv("PERFKIT_BLAS");
}

static void large_scores_do_not_overflow(void **state)
{
    open_device(2);
    check_large_scores(&trial);
    pk_device_close(&dev);
}

static void a_refused_workspace_is_oom(void **state)
{
    open_device(3);
    check_refused_workspace(&trial, (const unsigned[3]){1, 2, 2});
    pk_device_close(&dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_matches),
        cmocka_unit_test(gemm_bf16_matches),
        cmocka_unit_test(other_products_are_refused),
        cmocka_unit_test(rows_match),
        cmocka_unit_test(attention_matches),
        cmocka_unit_test(large_scores_do_not_overflow),
        cmocka_unit_test(a_refused_workspace_is_oom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
