/* Every op on a GPU against the float64 reference: the checks that the CPU's ops pass, with larger and odder shapes. An op that
 * the device lacks is a skipped test. */
#include "build_config.h"
#include "given.h"
#include "isolated.h"
#include "model/tree/weights.h"
#include "ops/ceilings/ceilings.h"
#include "ops/ops.h"
#include "unit/ops/op_checks.h"
#include "unit/ops/op_checks_layers.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>

static struct given given;
static struct pk_device dev;
static struct trial trial;

static enum op_size size(void)
{
    return given.tiny ? OPS_TINY : given.large || dev.kind == PK_DEVICE_CUDA ? OPS_LARGE : OPS_USUAL;
}

static int open_device(void **state)
{
    given_open(&dev, &given, &(struct pk_device_options){.limit_bytes = 1 << 30});
    trial = (struct trial){.dev = &dev, .label = given.device};
    return 0;
}

static int close_device(void **state)
{
    given_close(&dev);
    return 0;
}

static void gemm(void **state)
{
    check_gemm(&trial, &(struct pk_gemm){0}, size());
}

static void gemm_tf32(void **state)
{
    check_gemm(&trial, &(struct pk_gemm){.math = PK_MATH_TF32}, size());
}

static void gemm_bf16(void **state)
{
    check_gemm(&trial, &(struct pk_gemm){.ab_type = PK_BF16, .c_type = PK_BF16}, size());
}

static void gemm_bf16_to_fp32(void **state)
{
    check_gemm(&trial, &(struct pk_gemm){.ab_type = PK_BF16}, size());
}

static void softmax(void **state)
{
    check_softmax(&trial, PK_FP32, size());
}

static void softmax_bf16(void **state)
{
    check_softmax(&trial, PK_BF16, size());
}

static void scale(void **state)
{
    check_scale(&trial, PK_FP32, size());
}

static void scale_bf16(void **state)
{
    check_scale(&trial, PK_BF16, size());
}

static void causal_mask(void **state)
{
    check_causal_mask(&trial, PK_FP32, size());
}

static void causal_mask_bf16(void **state)
{
    check_causal_mask(&trial, PK_BF16, size());
}

static void fused(void **state)
{
    check_fused(&trial, PK_FP32, PK_MATH_IEEE, size());
}

static void fused_tf32(void **state)
{
    check_fused(&trial, PK_FP32, PK_MATH_TF32, size());
}

static void fused_bf16(void **state)
{
    check_fused(&trial, PK_BF16, PK_MATH_IEEE, size());
}

static void flash(void **state)
{
    check_flash(&trial, PK_FP32, PK_MATH_IEEE, size());
}

static void flash_3xtf32(void **state)
{
    check_flash(&trial, PK_FP32, PK_MATH_3XTF32, size());
}

/* Experimental: switched on here alone. Heads of 33 to 128 features have kernels of their own. */
static void flash_fp16x3(void **state)
{
    setenv("PERFKIT_FP16X3", "on", 1);
    check_flash(&trial, PK_FP32, PK_MATH_FP16X3, size());
    unsetenv("PERFKIT_FP16X3");
}

/* Experimental: switched on here alone. Heads of 33 to 128 features have them. */
static void flash_five(void **state)
{
    setenv("PERFKIT_FIVE_PRODUCTS", "on", 1);
    check_flash(&trial, PK_FP32, PK_MATH_3XTF32, size()); /* elsewhere the test ends here */
    check_flash(&trial, PK_FP32, PK_MATH_IEEE, size());
    unsetenv("PERFKIT_FIVE_PRODUCTS");
}

static void large_scores(void **state)
{
    check_large_scores(&trial);
}

static void refused_workspace(void **state)
{
    check_refused_workspace(&trial, (const unsigned[3]){0});
}

static void copy2d(void **state)
{
    check_copies(&trial, size());
}

static void fill(void **state)
{
    check_fills(&trial);
}

static void mean(void **state)
{
    check_mean(&trial, size());
}

/* A test for each element type of a layer, called LAYER and LAYER_bf16. */
#define LAYER(name)                                                                                          \
    static void name(void **state)                                                                           \
    {                                                                                                        \
        check_##name(&trial, PK_FP32, size());                                                               \
    }                                                                                                        \
    static void name##_bf16(void **state)                                                                    \
    {                                                                                                        \
        check_##name(&trial, PK_BF16, size());                                                               \
    }
LAYER(embed)
LAYER(norm)
LAYER(norm_backward)
LAYER(heads)
LAYER(map)
LAYER(glu)
LAYER(cross_entropy)
LAYER(nll)
LAYER(adamw)

static void bad_logits(void **state)
{
    check_bad_logits(&trial, PK_FP32);
    check_bad_logits(&trial, PK_BF16);
}

/* Copies of rows by launches, by a table and, where there are graphs, by a replay: each over poison. */
static void slices(void **state)
{
    enum { N = 100, ROWS = 7, ROW = 48, STRIDE = 2 * ROW };
    const float *host = trial_random(&trial, N * ROWS * STRIDE, 5);
    const float *from = trial_input(&trial, host, N * ROWS * STRIDE);
    for (int how = 0; how <= PK_SLICE_GRAPH; how++) {
        struct pk_copy2d v[N];
        struct pk_slices s;
        if (how == PK_SLICE_GRAPH && !pk_graph_supported(&dev))
            continue;
        float *to = trial_output(&trial, N * ROWS * ROW);
        for (size_t i = 0; i < N; i++)
            v[i] = (struct pk_copy2d){from + i * ROWS * STRIDE, to + i * ROWS * ROW, ROWS,
                                      ROW * sizeof *to,         STRIDE * sizeof *to, ROW * sizeof *to};
        trial_ran(&trial, "slices", pk_slices_make(&dev, (enum pk_slicing)how, v, N, &s, &trial.err));
        trial_ran(&trial, "slices", pk_slices_cut(&dev, &s, &trial.err));
        const float *got = trial_fetch(&trial, to, N * ROWS * ROW * sizeof *to);
        for (size_t i = 0; i < N * ROWS * ROW; i++)
            assert_true(got[i] == host[i / ROW * STRIDE + i % ROW]);
        pk_slices_free(&dev, &s);
    }
    trial_end(&trial);
}

/* Every third entry, more than a block of them; the others stay. */
static void table_patches(void **state)
{
    enum { N = 1000, ENTRIES = 3 * N };
    uint64_t host[ENTRIES];
    struct pk_table_patch v[N];
    for (size_t i = 0; i < ENTRIES; i++)
        host[i] = i;
    for (size_t i = 0; i < N; i++)
        v[i] = (struct pk_table_patch){3 * i, ~(uint64_t)i};
    uint64_t *table = pk_device_alloc(&dev, sizeof host, PK_TAG_OTHER);
    struct pk_table_patch *up = pk_device_alloc(&dev, sizeof v, PK_TAG_OTHER);
    assert_true(table && up);
    struct pk_err *err = &trial.err;
    assert_false(
        pk_device_copy(&dev, PK_LANE_COMPUTE, PK_COPY_HOST_TO_DEVICE, table, host, sizeof host, err) ||
        pk_device_copy(&dev, PK_LANE_COMPUTE, PK_COPY_HOST_TO_DEVICE, up, v, sizeof v, err) ||
        pk_op_table_patch(&dev, table, up, N, err) ||
        pk_device_copy(&dev, PK_LANE_COMPUTE, PK_COPY_DEVICE_TO_HOST, host, table, sizeof host, err) ||
        pk_device_sync(&dev, err));
    for (size_t i = 0; i < ENTRIES; i++)
        assert_true(host[i] == (i % 3 ? i : ~(uint64_t)(i / 3)));
    pk_device_free(&dev, up);
    pk_device_free(&dev, table);
}

/* Below what any chip reaches, above what any is as slow as. The default limit: arrays are many times the L2 cache. */
static void ceilings(void **state)
{
    struct pk_ceilings c;
    struct pk_curves curves;
    if (given.tiny && dev.kind == PK_DEVICE_CUDA) {
        print_message("a sanitizer would take hours\n");
        skip();
    }
    /* of a CPU, where this shows that the test works, arrays up to 32 MiB are enough */
    const struct pk_device_options opt = {.limit_bytes = dev.kind == PK_DEVICE_CUDA ? 0 : 64 << 20};
    given_close(&dev);
    given_open(&dev, &given, &opt);
    trial_ran(&trial, "ceilings", pk_ceilings_measure(&dev, false, &c, &curves, &trial.err));
    print_message("%.0f GFLOP/s, %.0f G exp/s, %.1f GB/s, a copy %.1f GB/s, cache %.1f MiB\n",
                  c.fp32_flops_per_s / 1e9, c.exp_per_s / 1e9, c.memory_bytes_per_s / 1e9,
                  c.copy_bytes_per_s / 1e9, c.cache_bytes / (1 << 20));
    assert_true(c.fp32_flops_per_s > 1e8 && c.fp32_flops_per_s < 1e15);
    assert_true(c.exp_per_s > 1e6);
#ifndef PK_SANITIZED /* multiply-adds are watched more closely than exponentials */
    assert_true(c.exp_per_s < c.fp32_flops_per_s);
#endif
    assert_true(c.memory_bytes_per_s > 1e8 && c.memory_bytes_per_s < 1e14);
    assert_true(c.copy_bytes_per_s > 1e8 && c.copy_bytes_per_s < 1e14);
}

#define ON_DEVICE(test) cmocka_unit_test_setup_teardown(test, open_device, close_device)

#define BY_TYPE(layer) ON_DEVICE(layer), ON_DEVICE(layer##_bf16)

static void begin(int argc, char **argv)
{
    given = given_device(argc, argv);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        ON_DEVICE(gemm),
        ON_DEVICE(gemm_tf32),
        ON_DEVICE(gemm_bf16),
        ON_DEVICE(gemm_bf16_to_fp32),
        ON_DEVICE(softmax),
        ON_DEVICE(softmax_bf16),
        ON_DEVICE(scale),
        ON_DEVICE(scale_bf16),
        ON_DEVICE(fused),
        ON_DEVICE(fused_tf32),
        ON_DEVICE(fused_bf16),
        ON_DEVICE(causal_mask),
        ON_DEVICE(causal_mask_bf16),
        ON_DEVICE(flash),
        ON_DEVICE(flash_3xtf32),
        ON_DEVICE(flash_fp16x3),
        ON_DEVICE(flash_five),
        ON_DEVICE(fill),
        ON_DEVICE(large_scores),
        ON_DEVICE(slices),
        ON_DEVICE(ceilings),
        ON_DEVICE(copy2d),
        ON_DEVICE(table_patches),
        ON_DEVICE(refused_workspace),
        ON_DEVICE(mean),
        BY_TYPE(embed),
        BY_TYPE(norm),
        BY_TYPE(norm_backward),
        BY_TYPE(heads),
        BY_TYPE(map),
        BY_TYPE(glu),
        BY_TYPE(cross_entropy),
        BY_TYPE(nll),
        BY_TYPE(adamw),
        ON_DEVICE(bad_logits),
    };
    return isolated_run(tests, sizeof tests / sizeof *tests, begin, argc, argv);
}
