/* attention-scaling: every variant is right on the CPU, and its memory is exactly what it predicts. */
#include "bench/measure/measure.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include "device/null.h"
#include "ops/attention.h"

#include <string.h>

static struct pk_arena texts;

static struct pk_case case_of(unsigned variant, const char *json)
{
    struct pk_err err;
    const struct pk_probe *p = pk_probe_find("attention-scaling");
    assert_non_null(p);
    struct pk_case c = {.probe = p, .variant = variant};
    json_t *axes = json_loads(json, 0, NULL);
    assert_int_equal(pk_point_from_json(p->axes, axes, &texts, &c.at, &err), PK_OK);
    json_decref(axes);
    return c;
}

static void open_device(struct pk_device *dev, const char *kind)
{
    struct pk_err err = {0};
    if (pk_device_open(dev, kind, &(struct pk_device_options){0}, &err))
        fail_msg("%s: %s", err.what, err.why);
}

static void measure(struct pk_device *dev, const struct pk_case *c, struct pk_arena *a, struct pk_slice *out)
{
    const struct pk_measure m = {.c = c,
                                 .dev = dev,
                                 .pass = PK_PASS_TIMING,
                                 .invocation = 1,
                                 .check = true,
                                 .seed = 7,
                                 .stop = {.min_samples = 3, .max_samples = 3, .max_noise = 1, .warmup = 0}};
    pk_measure_case(&m, a, out);
}

static int64_t value_of(const struct pk_slice *s, const char *metric)
{
    for (size_t i = 0; i < s->n_series; i++)
        if (!strcmp(s->metrics[s->series[i].metric].name, metric) && s->series[i].phase == PK_PHASE_STEADY)
            return s->series[i].integer[0] / s->series[i].reps;
    fail_msg("no steady samples of %s", metric);
    return -1;
}

/* Of every variant that computes on the CPU: the check points (odd sizes, one token, one feature) and the case itself by samples, on the real kernels. */
static void right_on_the_cpu(void **state)
{
    static const char *const shapes[] = {
        "{\"batch\":1,\"d_model\":100,\"seq_len\":149,\"causal\":true}",
        "{\"batch\":2,\"heads\":3,\"d_model\":96,\"seq_len\":130,\"causal\":true}",
        "{\"batch\":3,\"heads\":1,\"d_model\":64,\"seq_len\":257,\"causal\":false}",
    };
    struct pk_device dev;
    open_device(&dev, "cpu");
    for (unsigned v = 0; v < PK_ATTENTION_CUDNN; v++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            struct pk_arena a = {0};
            struct pk_slice s;
            const struct pk_case c = case_of(v, shapes[i]);
            measure(&dev, &c, &a, &s);
            if (s.status != PK_ST_OK)
                fail_msg("%s %s: %s", c.probe->variants[v].name, shapes[i], s.message);
            pk_arena_free(&a);
        }
    pk_device_close(&dev);
}

static void memory_is_what_was_predicted(void **state)
{
    static const char *const shapes[] = {"{\"batch\":8,\"d_model\":64,\"seq_len\":1024}",
                                         "{\"batch\":8,\"d_model\":16,\"seq_len\":4096,\"causal\":true}",
                                         "{\"batch\":1,\"d_model\":3,\"seq_len\":7}"};
    struct pk_device dev;
    open_device(&dev, "null");
    for (unsigned v = 0; v < PK_ATTENTION_CUDNN; v++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            struct pk_arena a = {0};
            struct pk_slice s;
            const struct pk_case c = case_of(v, shapes[i]);
            measure(&dev, &c, &a, &s);
            assert_int_equal(s.status, PK_ST_OK);
            assert_int_equal(value_of(&s, "peak_bytes"), c.probe->predict(&c, PK_DEVICE_NULL, PK_PEAK_BYTES));
            assert_int_equal(value_of(&s, "before_backward_bytes"), c.probe->predict(&c, PK_DEVICE_CPU, 0));
            pk_arena_free(&a);
        }
    pk_device_close(&dev);
}

/* Bytes per score of the four and six eager kernels, and of the compiled ones, as seq_len grows beyond d_model. */
static void counted_bytes_per_score(void **state)
{
    static const double want[][2] = {{24, 36}, {16, 28}};
    for (unsigned v = 0; v < 2; v++)
        for (unsigned region = 0; region < 2; region++) {
            const struct pk_case c = case_of(v, "{\"batch\":1,\"d_model\":1,\"seq_len\":65536}");
            double per_score = c.probe->work(&c, region).bytes / (65536.0 * 65536.0);
            assert_float_equal(per_score, want[v][region], 0.01);
        }
}

/* Times on the null device are declared work at fixed rates: doubling seq_len takes four times as long. */
static void time_grows_with_the_square(void **state)
{
    struct pk_arena a = {0};
    struct pk_slice s;
    int64_t ns[2];
    struct pk_device dev;
    open_device(&dev, "null");
    for (int i = 0; i < 2; i++) {
        const struct pk_case c =
            case_of(0, i ? "{\"d_model\":64,\"seq_len\":8192}" : "{\"d_model\":64,\"seq_len\":4096}");
        measure(&dev, &c, &a, &s);
        assert_int_equal(s.status, PK_ST_OK);
        ns[i] = value_of(&s, "forward_ns");
    }
    assert_float_equal((double)ns[1] / (double)ns[0], 4, 0.05);
    pk_arena_free(&a);
    pk_device_close(&dev);
}

static const char *skipped(unsigned variant, const char *shape, enum pk_device_kind kind)
{
    const struct pk_case c = case_of(variant, shape);
    const char *why =
        c.probe->variants[variant].unavailable ? c.probe->variants[variant].unavailable(kind) : NULL;
    return why ? why : (c.probe->skip)(&c, kind); /* parentheses: cmocka has a macro skip */
}

/* cudnn: on GPUs, in bf16, rows of 16 bytes. Two bytes an element, four of what is summed. */
static void cudnn_says_what_it_takes(void **state)
{
    static const char bf16[] = "{\"batch\":8,\"d_model\":64,\"seq_len\":1024,\"dtype\":\"bf16\"}";
    assert_string_equal(skipped(PK_ATTENTION_CUDNN, bf16, PK_DEVICE_CPU), "cuDNN needs an NVIDIA GPU");
    assert_non_null(strstr(skipped(PK_ATTENTION_CUDNN, "{\"d_model\":64}", PK_DEVICE_CUDA), "no fp32"));
    assert_non_null(strstr(skipped(PK_ATTENTION_CUDNN, "{\"d_model\":12,\"dtype\":\"bf16\"}", PK_DEVICE_CUDA),
                           "a multiple of 8"));
    assert_null(skipped(PK_ATTENTION_CUDNN, bf16, PK_DEVICE_CUDA));
    const int64_t rows = 8 * 1024, tokens = rows * 64;
    const struct pk_case c = case_of(PK_ATTENTION_CUDNN, bf16);
    assert_int_equal(c.probe->predict(&c, PK_DEVICE_CPU, 0), 2 * 5 * tokens + 4 * rows);
    assert_int_equal(c.probe->predict(&c, PK_DEVICE_CUDA, PK_PEAK_BYTES),
                     2 * 8 * tokens + 4 * rows + 4 * (tokens + rows));
    const struct pk_case flash = case_of(PK_ATTENTION_FLASH, "{\"batch\":8,\"d_model\":64,\"seq_len\":1024}");
    for (unsigned region = 0; region < 2; region++) {
        const struct pk_work half = c.probe->work(&c, region), all = flash.probe->work(&flash, region);
        assert_true(half.flops == all.flops && half.exps == all.exps);
        assert_true(half.bytes < 0.52 * all.bytes && half.bytes > 0.5 * all.bytes);
    }
}

/* What a device or a variant has not is left out with the reason. */
static void dtypes_are_skipped_where_they_are_not(void **state)
{
    static const char tf32[] = "{\"dtype\":\"tf32\"}", bf16[] = "{\"dtype\":\"bf16\"}";
    for (unsigned v = 0; v < PK_ATTENTION_CUDNN; v++) {
        assert_non_null(strstr(skipped(v, tf32, PK_DEVICE_CPU), "tf32 products need a GPU"));
        assert_null(skipped(v, bf16, PK_DEVICE_CPU));
        assert_null(skipped(v, "{}", PK_DEVICE_CPU));
        assert_null(skipped(v, "{}", PK_DEVICE_CUDA));
    }
    for (unsigned v = 0; v < PK_ATTENTION_FLASH; v++) {
        assert_null(skipped(v, tf32, PK_DEVICE_CUDA));
        assert_null(skipped(v, bf16, PK_DEVICE_CUDA));
    }
    assert_non_null(strstr(skipped(PK_ATTENTION_FLASH, tf32, PK_DEVICE_CUDA), "only fp32"));
    assert_non_null(strstr(skipped(PK_ATTENTION_FLASH, bf16, PK_DEVICE_CUDA), "only fp32"));
    assert_non_null(strstr(skipped(PK_ATTENTION_CUDNN, tf32, PK_DEVICE_CUDA), "-a dtype=bf16"));
}

/* fp32 is as it was: baselines stay. math is of fp32. */
static void identities(void **state)
{
    static const char *const rows[][2] = {
        {"{\"d_model\":64,\"seq_len\":1024}", "{}"},
        {"{\"d_model\":64,\"seq_len\":1024,\"dtype\":\"tf32\"}", "{\"dtype\":\"tf32\"}"},
        {"{\"d_model\":64,\"seq_len\":1024,\"dtype\":\"bf16\"}", "{\"dtype\":\"bf16\"}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct pk_case c = case_of(0, rows[i][0]);
        assert_string_equal(pk_point_identity(&c.at, &texts), rows[i][1]);
        assert_int_equal(strstr(pk_point_json(&c.at, &texts), "math") == NULL, i > 0);
    }
}

/* Half the bytes, as many operations; those of tensor cores are told apart. */
static void work_by_type(void **state)
{
    static const char *const shapes[] = {"{}", "{\"dtype\":\"tf32\"}", "{\"dtype\":\"bf16\"}"};
    for (unsigned v = 0; v < 2; v++)
        for (unsigned region = 0; region < 2; region++) {
            struct pk_work w[3];
            for (size_t i = 0; i < 3; i++) {
                const struct pk_case c = case_of(v, shapes[i]);
                w[i] = c.probe->work(&c, region);
            }
            assert_true(w[0].flops == w[1].flops && w[0].flops == w[2].flops);
            assert_true(w[0].bytes == w[1].bytes && w[0].bytes == 2 * w[2].bytes);
            assert_true(w[0].tensor_flops == 0 && w[1].tensor_flops == w[1].flops &&
                        w[2].tensor_flops == w[2].flops);
        }
}

/* On a GPU products have workspaces: within 32 MiB and what a block of backward has. */
static void workspaces_are_predicted(void **state)
{
    const struct pk_case c = case_of(PK_ATTENTION_VANILLA, "{\"batch\":8,\"d_model\":64,\"seq_len\":4096}");
    assert_int_equal(c.probe->predict(&c, PK_DEVICE_CUDA, PK_PEAK_BYTES) -
                         c.probe->predict(&c, PK_DEVICE_NULL, PK_PEAK_BYTES),
                     32 << 20);
    const struct pk_case f = case_of(PK_ATTENTION_FUSED, "{\"batch\":8,\"d_model\":64,\"seq_len\":4096}");
    const int64_t block = 1536 * 4096 * 4, product = block + (1536 + 4096) * 64 * 4;
    assert_int_equal(f.probe->predict(&f, PK_DEVICE_CUDA, PK_PEAK_BYTES) -
                         f.probe->predict(&f, PK_DEVICE_NULL, PK_PEAK_BYTES),
                     block + product);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_on_the_cpu),
        cmocka_unit_test(memory_is_what_was_predicted),
        cmocka_unit_test(counted_bytes_per_score),
        cmocka_unit_test(time_grows_with_the_square),
        cmocka_unit_test(cudnn_says_what_it_takes),
        cmocka_unit_test(dtypes_are_skipped_where_they_are_not),
        cmocka_unit_test(identities),
        cmocka_unit_test(work_by_type),
        cmocka_unit_test(workspaces_are_predicted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
