/* Declared work: the counts per score that the tables' floors rest on. */
#include "ops/ops.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>

enum { B = 8, S = 512, D = 16 };

static const double scores = (double)B * S * S, rows = (double)B * S * D;

static const struct pk_attention *attention(int causal)
{
    static struct pk_attention at = {.batch = B, .seq = S, .dim = D};
    at.causal = causal;
    return &at;
}

static struct pk_work product(size_t m, size_t n, size_t k)
{
    return pk_work_gemm(&(struct pk_gemm){.m = m, .n = n, .k = k, .batch = B});
}

/* S = Q K^T, scale, softmax, P V */
static struct pk_work vanilla_forward(void)
{
    struct pk_work w = pk_work_add(product(S, S, D), pk_work_scale(PK_FP32, B * S * S));
    return pk_work_add(w, pk_work_add(pk_work_softmax(PK_FP32, B * S, S), product(S, D, S)));
}

/* dV = P^T dO, dP = dO V^T, softmax, scale, dQ = dS K, dK = dS^T Q */
static struct pk_work vanilla_backward(void)
{
    struct pk_work w = pk_work_add(product(S, D, S), product(S, S, D));
    w = pk_work_add(
        w, pk_work_add(pk_work_softmax_backward(PK_FP32, B * S, S), pk_work_scale(PK_FP32, B * S * S)));
    return pk_work_add(w, pk_work_add(product(S, D, S), product(S, D, S)));
}

static void bytes_per_score(void **state)
{
    assert_true(vanilla_forward().bytes == 24 * scores + 16 * rows);
    assert_true(vanilla_backward().bytes == 36 * scores + 32 * rows);
    assert_true(pk_work_fused_forward(attention(0)).bytes == 16 * scores + 16 * rows);
    assert_true(pk_work_fused_backward(attention(0)).bytes == 28 * scores + 32 * rows);
    assert_true(pk_work_fused_softmax(attention(0), false).bytes == pk_work_softmax(PK_FP32, B * S, S).bytes);
    assert_true(pk_work_fused_softmax(attention(0), true).bytes ==
                pk_work_softmax_backward(PK_FP32, B * S, S).bytes);
    assert_true(pk_work_flash_forward(attention(0)).bytes == 16 * rows + 4 * B * S);
    assert_true(pk_work_flash_backward(attention(0)).bytes == 36 * rows + 12 * B * S);
    assert_true(pk_work_causal_mask(PK_FP32, B, S).bytes == 8 * scores);
}

static void flops(void **state)
{
    assert_true(vanilla_forward().flops == 4 * scores * D);
    assert_true(pk_work_fused_forward(attention(0)).flops == 4 * scores * D);
    assert_true(pk_work_flash_forward(attention(0)).flops == 4 * scores * D);
    assert_true(vanilla_backward().flops == 8 * scores * D);
    assert_true(pk_work_fused_backward(attention(0)).flops == 8 * scores * D);
    assert_true(pk_work_flash_backward(attention(0)).flops == 10 * scores * D);
    assert_true(vanilla_forward().exps == scores && pk_work_flash_backward(attention(0)).exps == scores);
}

static void causal_counts_the_triangle(void **state)
{
    double pairs = (double)B * S * (S + 1) / 2;
    assert_true(pk_work_flash_forward(attention(1)).flops == 4 * pairs * D);
    assert_true(pk_work_fused_forward(attention(1)).bytes == 16 * pairs + 16 * rows);
    assert_true(pk_work_fused_backward(attention(1)).flops == 8 * pairs * D);
}

static void gemm_reads_c_only_with_beta(void **state)
{
    struct pk_gemm g = {.m = 2, .n = 3, .k = 5, .batch = 7, .beta = 0};
    assert_true(pk_work_gemm(&g).bytes == 4.0 * 7 * (10 + 15 + 6));
    g.beta = 1;
    assert_true(pk_work_gemm(&g).bytes == 4.0 * 7 * (10 + 15 + 12));
}

static void gemm_counts_bytes_as_stored(void **state)
{
    struct pk_gemm g = {.m = 2, .n = 3, .k = 5, .batch = 7, .beta = 1, .ab_type = PK_BF16};
    assert_true(pk_work_gemm(&g).bytes == 7.0 * (2 * (10 + 15) + 4 * 12));
    g.c_type = PK_BF16;
    assert_true(pk_work_gemm(&g).bytes == 2 * 7.0 * (10 + 15 + 12));
    assert_true(pk_work_gemm(&g).flops == 2.0 * 7 * 2 * 3 * 5);
}

static void attention_counts_bytes_as_stored(void **state)
{
    struct pk_attention at = {.batch = B, .seq = S, .dim = D, .dtype = PK_BF16};
    assert_true(pk_work_fused_forward(&at).bytes == 8 * scores + 8 * rows);
    assert_true(pk_work_flash_forward(&at).bytes == 8 * rows + 4 * B * S); /* lse stays fp32 */
    assert_true(pk_work_softmax(PK_BF16, B * S, S).bytes == 4 * scores);
    assert_true(pk_work_softmax_backward(PK_BF16, B * S, S).bytes == 6 * scores);
    assert_true(pk_work_scale(PK_BF16, B * S * S).bytes == 4 * scores);
    assert_true(pk_work_causal_mask(PK_BF16, B, S).bytes == 4 * scores);
}

/* For them there is no ceiling. */
static void flops_of_tensor_cores_are_told_apart(void **state)
{
    struct pk_attention at = {.batch = B, .seq = S, .dim = D};
    assert_true(pk_work_fused_forward(&at).tensor_flops == 0);
    at.math = PK_MATH_TF32;
    assert_true(pk_work_fused_forward(&at).tensor_flops == 4 * scores * D);
    const struct pk_gemm g = {.m = 2, .n = 3, .k = 5, .batch = 7, .ab_type = PK_BF16};
    assert_true(pk_work_gemm(&g).tensor_flops == pk_work_gemm(&g).flops);
    assert_true(pk_work_add(pk_work_gemm(&g), pk_work_gemm(&g)).tensor_flops == 2 * pk_work_gemm(&g).flops);
    assert_true(product(S, S, D).tensor_flops == 0);
}

static void bf16_rounds_to_the_nearest(void **state)
{
    assert_int_equal(pk_bf16_of_float(1), 0x3F80);
    assert_int_equal(pk_bf16_of_float(1 + 0x1p-8f), 0x3F80); /* halves to even */
    assert_int_equal(pk_bf16_of_float(1 + 3 * 0x1p-8f), 0x3F82);
    assert_int_equal(pk_bf16_of_float(1 + 0x1p-8f + 0x1p-20f), 0x3F81);
    assert_int_equal(pk_bf16_of_float(-0.0f), 0x8000);
    assert_int_equal(pk_bf16_of_float(0x1.FFp127f), 0x7F80); /* infinity */
    assert_int_equal(pk_bf16_of_float(INFINITY), 0x7F80);
    const float low = pk_bf16_to_float(pk_bf16_of_float(NAN)), payload = pk_bf16_to_float(0x7F81);
    assert_true(low != low && payload != payload);
    assert_true(pk_bf16_to_float(0xC049) == -3.140625f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_per_score),
        cmocka_unit_test(flops),
        cmocka_unit_test(causal_counts_the_triangle),
        cmocka_unit_test(gemm_reads_c_only_with_beta),
        cmocka_unit_test(gemm_counts_bytes_as_stored),
        cmocka_unit_test(attention_counts_bytes_as_stored),
        cmocka_unit_test(flops_of_tensor_cores_are_told_apart),
        cmocka_unit_test(bf16_rounds_to_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
