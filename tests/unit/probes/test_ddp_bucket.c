/* ddp-bucket: every way is right on the CPU, at its check points and at the case's own size, and takes the memory it predicts. */
#include "bench/measure/measure.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct pk_arena texts;

static struct pk_case case_of(unsigned variant, const char *json)
{
    struct pk_err err;
    struct pk_case c = {.probe = pk_probe_find("ddp-bucket"), .variant = variant};
    json_t *axes = json_loads(json, 0, NULL);
    assert_non_null(c.probe);
    assert_int_equal(pk_point_from_json(c.probe->axes, axes, &texts, &c.at, &err), PK_OK);
    json_decref(axes);
    return c;
}

static void measure(const struct pk_case *c, struct pk_device *dev, struct pk_arena *a, struct pk_slice *out)
{
    const struct pk_measure m = {.c = c,
                                 .dev = dev,
                                 .pass = PK_PASS_TIMING,
                                 .invocation = 1,
                                 .check = true,
                                 .seed = 7,
                                 .stop = {.min_samples = 2, .max_samples = 2, .max_noise = 1, .warmup = 0}};
    pk_measure_case(&m, a, out);
}

static int64_t value_of(const struct pk_slice *s, const char *metric)
{
    for (size_t i = 0; i < s->n_series; i++)
        if (!strcmp(s->metrics[s->series[i].metric].name, metric) && s->series[i].phase == PK_PHASE_STEADY)
            return s->series[i].integer[0] / s->series[i].reps;
    return -1;
}

/* Tensors smaller than a bucket, larger than one, and of one element; the sizes of a model's would take the kernel longer to provide than
 * the ways to average them. */
static const char *small_tensors(void)
{
    char path[] = "/tmp/perfkit-tensors-XXXXXX";
    FILE *f = fdopen(mkstemp(path), "w");
    assert_non_null(f);
    static const unsigned elements[] = {70001, 1, 300, 129, 25000, 25000, 640, 90003, 7, 4096, 33333, 2};
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        fprintf(f, "tensor%zu %u\n", i, elements[i]);
    assert_int_equal(fclose(f), 0);
    return pk_printf(&texts, "%s", path);
}

static void right_on_the_cpu(void **state)
{
    static const char *const points[] = {
        "{\"tensors\":\"%s\",\"compute_ms\":0.5,\"bucket_bytes\":120000,\"gradients\":\"views\"}",
        "{\"tensors\":\"%s\",\"compute_ms\":0.5,\"bucket_bytes\":999,\"gradients\":\"copy\",\"dtype\":"
        "\"bf16\"}",
        "{\"tensors\":\"%s\",\"compute_ms\":0.5,\"bucket_bytes\":100001,\"split\":true}",
        "{\"work\":\"transformer\",\"batch\":1,\"seq_len\":16,\"bucket_bytes\":4000000,\"gradients\":"
        "\"copy\",\"model\":\"tiny\"}"};
    const char *tensors = small_tensors();
    struct pk_err err = {0};
    struct pk_device dev;
    if (pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = 1, .no_bind = true}, &err))
        fail_msg("%s: %s", err.what, err.why);
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        for (unsigned v = 0; pk_probe_find("ddp-bucket")->variants[v].name; v++) {
            PK_ARENA_CLEANUP struct pk_arena a = {0};
            const struct pk_case c =
                case_of(v, strstr(points[i], "%s") ? pk_printf(&texts, points[i], tensors) : points[i]);
            struct pk_slice s;
            measure(&c, &dev, &a, &s);
            assert_string_equal(s.message, "");
            assert_int_equal(s.status, PK_ST_OK);
            assert_int_equal(value_of(&s, "peak_bytes"), c.probe->predict(&c, PK_DEVICE_CPU, PK_PEAK_BYTES));
            assert_true(value_of(&s, "step_ns") >= 500000);
            assert_true(value_of(&s, "exposed_ns") >= 0 && value_of(&s, "comm_ns") >= 0);
            assert_int_equal(value_of(&s, "all_reduces") > 0, v > 0);
        }
    }
    pk_device_close(&dev);
    unlink(tensors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(right_on_the_cpu)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pk_arena_free(&texts);
    return failed;
}
