/* mixed-precision: what it predicts for devices that are not here, and for the one that is. */
#include "bench/measure/measure.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include "device/cpu/cpu.h"
#include "ops/workspace.h"

#include <string.h>

enum { EAGER, COMPILED };

static struct pk_arena texts;

static struct pk_case case_of(unsigned variant, const char *format, const char *dtype)
{
    struct pk_err err;
    const struct pk_probe *p = pk_probe_find("mixed-precision");
    assert_non_null(p);
    struct pk_case c = {.probe = p, .variant = variant};
    json_t *axes = json_loads(pk_printf(&texts, format, dtype), 0, NULL);
    assert_int_equal(pk_point_from_json(p->axes, axes, &texts, &c.at, &err), PK_OK);
    json_decref(axes);
    return c;
}

static const char *skipped(const struct pk_case *c, enum pk_device_kind kind)
{
    return (c->probe->skip)(c, kind); /* parentheses: cmocka has a macro skip */
}

static int64_t bytes_on_gpu(unsigned variant, const char *format, const char *dtype)
{
    const struct pk_case c = case_of(variant, format, dtype);
    assert_null(skipped(&c, PK_DEVICE_CUDA));
    return c.probe->predict(&c, PK_DEVICE_CUDA, PK_PEAK_BYTES);
}

/* The report's small model. */
#define SMALL                                                                                                \
    "\"layers\":12,\"d_model\":768,\"heads\":12,\"d_ff\":3072,\"batch\":64,\"seq_len\":256,"                 \
    "\"dtype\":\"%s\""

#define STEP SMALL ",\"mode\":\"step\""

/* Every type in both variants; compiled takes less, bf16 less than fp32. */
static void every_type_fits_on_a_gpu(void **state)
{
    static const char *const dtypes[] = {"fp32", "tf32", "bf16"};
    int64_t compiled[3];
    for (size_t i = 0; i < 3; i++) {
        const int64_t eager = bytes_on_gpu(EAGER, "{" STEP "}", dtypes[i]);
        compiled[i] = bytes_on_gpu(COMPILED, "{" STEP "}", dtypes[i]);
        assert_in_range(compiled[i], INT64_C(5) << 30, eager - 1);
        assert_in_range(eager, INT64_C(10) << 30, INT64_C(100) << 30);
    }
    assert_true(compiled[2] < compiled[0]);
}

/* cuDNN's has flash's arrays, and in backward its side buffers. */
static void cudnn_is_flash_and_side_buffers(void **state)
{
    const int64_t side = INT64_C(4) * 64 * 12 * 256 * (64 + 1);
    const int64_t more = bytes_on_gpu(COMPILED, "{" STEP "}", "bf16") -
                         bytes_on_gpu(COMPILED, "{" STEP ",\"attention\":\"flash\"}", "bf16");
    assert_in_range(more, 0, side);
    const int64_t forward = bytes_on_gpu(COMPILED, "{" SMALL ",\"mode\":\"forward\"}", "bf16");
    assert_int_equal(
        forward, bytes_on_gpu(COMPILED, "{" SMALL ",\"mode\":\"forward\",\"attention\":\"flash\"}", "bf16"));
    const struct pk_attention at = {.batch = 64 * 12, .seq = 256, .dim = 64};
    assert_int_equal(pk_workspace_cudnn_backward(&at), side);
}

/* tf32 of `auto` is fused's. */
static void tf32_is_fused(void **state)
{
    const int64_t fused = bytes_on_gpu(COMPILED, "{" STEP ",\"attention\":\"fused\"}", "tf32");
    assert_int_equal(bytes_on_gpu(COMPILED, "{" STEP "}", "tf32"), fused);
}

static int64_t measured_peak(const struct pk_case *c, struct pk_device *dev)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_slice s;
    const struct pk_measure m = {.c = c,
                                 .pass = PK_PASS_TIMING,
                                 .invocation = 1,
                                 .dev = dev,
                                 .seed = 7,
                                 .stop = {.min_samples = 1, .max_samples = 1, .max_noise = 1, .warmup = 0}};
    pk_measure_case(&m, &a, &s);
    if (s.status != PK_ST_OK)
        fail_msg("%s", s.message);
    for (size_t i = 0; i < s.n_series; i++)
        if (!strcmp(s.metrics[s.series[i].metric].name, "peak_bytes") && s.series[i].phase == PK_PHASE_STEADY)
            return s.series[i].integer[0] / s.series[i].reps;
    fail_msg("no peak");
    return -1;
}

/* With every way of attention, workspaces and what is widened are in it: to the byte, with a BLAS library and no bf16 instructions. */
static void memory_on_the_cpu_is_predicted(void **state)
{
    static const char *const attentions[] = {"auto", "vanilla", "fused", "flash"};
    static const char *const shapes[] = {
        "\"layers\":1,\"d_model\":64,\"heads\":2,\"d_ff\":64,\"vocab\":50,\"seq_len\":64,\"batch\":9",
        "\"layers\":1,\"d_model\":32,\"heads\":1,\"d_ff\":40,\"vocab\":1500,\"seq_len\":300,\"batch\":1"};
    struct pk_err err = {0};
    struct pk_device dev;
    if (pk_device_open(&dev, "cpu", &(struct pk_device_options){0}, &err))
        fail_msg("%s: %s", err.what, err.why);
    const bool as_assumed = pk_cpu_blas(&dev)->kind != PK_BLAS_OWN && !pk_cpu_bf16(&dev)->product;
    for (unsigned i = 0; i < 4 * 2 * 2 * 2; i++) {
        const char *format = pk_printf(&texts, "{%s,\"mode\":\"step\",\"attention\":\"%s\",\"dtype\":\"%s\"}",
                                       shapes[i / 4 % 2], attentions[i % 4], "%s");
        struct pk_case c = case_of(i / 8 % 2, format, i / 16 ? "bf16" : "fp32");
        c.threads =
            pk_cpu_threads(&dev); /* as a worker does: they are not counted again for each prediction */
        const int64_t got = measured_peak(&c, &dev),
                      want = c.probe->predict(&c, PK_DEVICE_CPU, PK_PEAK_BYTES);
        if (as_assumed && got != want)
            fail_msg("variant %u, %s: %lld, predicted %lld", c.variant, format, (long long)got,
                     (long long)want);
    }
    pk_device_close(&dev);
}

/* Scores that causality hides, and what is recomputed, are tensor cores' as well: nothing of it is charged at fp32's rate. */
static void products_are_all_of_tensor_cores_or_none(void **state)
{
    static const char *const dtypes[] = {"fp32", "tf32", "bf16"}, *const recompute[] = {"none", "block"};
    for (unsigned i = 0; i < 3 * 2 * 2; i++) {
        const char *format = pk_printf(&texts, "{" STEP ",\"recompute\":\"%s\"}", "%s", recompute[i / 3 % 2]);
        const struct pk_case c = case_of(i / 6, format, dtypes[i % 3]);
        for (unsigned r = 0; c.probe->regions[r].name; r++) {
            const struct pk_work w = c.probe->work(&c, r);
            assert_true(w.flops > 0 || !strcmp(c.probe->regions[r].name, "optimizer"));
            assert_true(w.tensor_flops == (i % 3 ? w.flops : 0));
        }
    }
}

/* What is named as the way out is one. */
static void refused_attention_names_one_that_is_there(void **state)
{
    static const char *const rows[][2] = {{"flash", "tf32"}, {"cudnn", "tf32"}, {"cudnn", "fp32"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *asked = pk_printf(&texts, "{" STEP ",\"attention\":\"%s\"}", "%s", rows[i][0]);
        const struct pk_case c = case_of(COMPILED, asked, rows[i][1]);
        assert_non_null(strstr(skipped(&c, PK_DEVICE_CUDA), "-a attention=auto"));
        bytes_on_gpu(COMPILED, "{" STEP ",\"attention\":\"auto\"}", rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_fits_on_a_gpu),
        cmocka_unit_test(cudnn_is_flash_and_side_buffers),
        cmocka_unit_test(tf32_is_fused),
        cmocka_unit_test(memory_on_the_cpu_is_predicted),
        cmocka_unit_test(products_are_all_of_tensor_cores_or_none),
        cmocka_unit_test(refused_attention_names_one_that_is_there),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pk_arena_free(&texts);
    return failed;
}
