/* Attention by cuDNN on the fake runtime and a fake cuDNN: results, when plans are made and kept, memory, what goes wrong. */
#include "ops/cuda/cudnn/graph.h"
#include "ops/cuda/cudnn/sdpa.h"

#include "../device/fake_cuda.h"
#include "bench/measure/measure.h"
#include "device/cuda/cuda.h"
#include "fake_cudnn.h"
#include "op_checks_cudnn.h"
#include "ops/attention.h"
#include "json/json.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <cudnn_version.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pk_device dev;
static struct pk_err err;
static struct pk_arena arena;
static struct fake_cudnn *fake;

static void take_time(uint64_t ns)
{
    fake_cuda_work(pk_cuda_stream(&dev, PK_LANE_COMPUTE), ns);
}

static int open_device(void **state)
{
    fake_cuda_reset();
    fake_cuda.memory_bytes = 1 << 30;
    pk_cuda_use(&fake_cuda_api);
    const char *folder = getenv("FAKE_CUDNN");
    setenv("PERFKIT_CUDA_LIBS", folder, 1);
    void *handle = dlopen(pk_printf(&arena, "%s/libcudnn.so.%d", folder, CUDNN_MAJOR), RTLD_NOW);
    fake = handle ? dlsym(handle, "fake_cudnn") : NULL;
    if (!fake)
        return -1;
    *fake = (struct fake_cudnn){.work = take_time, .ns = 1000, .engines = 2, .workspace_bytes = 768};
    return pk_device_open(&dev, "cuda", &(struct pk_device_options){0}, &err);
}

/* Nothing is left: memory of executions, descriptors of plans, handles. */
static int close_device(void **state)
{
    const size_t left = dev.pool.current;
    pk_device_close(&dev);
    pk_cuda_use(NULL);
    pk_arena_free(&arena);
    return left || fake_cuda.live_blocks || fake_cuda.live_streams || fake->live;
}

static struct trial trial;

static struct cudnn_step make_step(size_t batch, size_t seq, size_t dim, bool causal)
{
    struct cudnn_step step;
    trial = (struct trial){.dev = &dev, .label = "a fake"};
    make_cudnn_step(&trial, batch, seq, dim, causal, &step);
    return step;
}

static void must(enum pk_code rc)
{
    if (rc)
        fail_msg("%s: %s", trial.err.what, trial.err.why);
}

static enum pk_code prepare(struct cudnn_step *step, bool backward)
{
    return prepare_cudnn(&trial, step, backward);
}

static enum pk_code run(struct cudnn_step *step, bool backward)
{
    return run_cudnn(&trial, step, backward);
}

static void results_match(void **state)
{
    trial = (struct trial){.dev = &dev, .label = "a fake"};
    check_cudnn(&trial, OPS_USUAL);
    assert_ptr_equal(fake->stream, pk_cuda_stream(&dev, PK_LANE_COMPUTE));
}

static void graphs_have_the_known_operations(void **state)
{
    for (int causal = 0; causal < 2; causal++) {
        struct cudnn_step step = make_step(1, 9, 8, causal);
        must(prepare(&step, false));
        assert_int_equal(fake->operations, causal ? 14 : 10);
        must(prepare(&step, true));
        assert_int_equal(fake->operations, causal ? 22 : 18);
        trial_end(&trial);
    }
}

static void plans_are_kept_per_shape_and_direction(void **state)
{
    struct cudnn_step t = make_step(2, 9, 8, false), other = t;
    other.s.causal = true;
    must(prepare(&t, false));
    must(prepare(&t, false));
    assert_int_equal(fake->plans, 1);
    must(prepare(&t, true));
    must(prepare(&other, false));
    assert_int_equal(fake->plans, 3);
    other.s.scale = 0.5f; /* given by value, yet part of the shape: a plan holds its own */
    must(prepare(&other, false));
    assert_int_equal(fake->plans, 4);
    for (int i = 0; i < 3; i++)
        must(run(&t, false));
    assert_int_equal(fake->plans, 4);
    assert_int_equal(fake->executions, 3);
    trial_end(&trial);
}

/* The pool gives the same addresses again: what a plan is executed with is then not written anew. */
static void packs_follow_addresses(void **state)
{
    struct cudnn_step t = make_step(1, 9, 8, false), other = t;
    other.arrays[PK_CUDNN_O] = trial_bytes(&trial, NULL, cudnn_tokens(&t) * sizeof(uint16_t));
    must(prepare(&t, false));
    must(run(&t, false));
    must(run(&t, false));
    assert_int_equal(fake->packs, 1);
    must(run(&other, false));
    assert_int_equal(fake->packs, 2);
    assert_memory_equal(t.arrays[PK_CUDNN_O], other.arrays[PK_CUDNN_O], cudnn_tokens(&t) * sizeof(uint16_t));
    trial_end(&trial);
}

/* A plan is made with the host's memory and seconds of its time: both would trip the assertion of a timed region. */
static void running_makes_nothing(void **state)
{
    struct cudnn_step t = make_step(1, 9, 8, false);
    must(prepare(&t, false));
    must(run(&t, false)); /* takes the pool's memory */
    const int plans = fake->plans;
    pk_timed_region(true);
    enum pk_code rc = run(&t, false);
    pk_timed_region(false);
    must(rc);
    assert_int_equal(fake->plans, plans);
    trial_end(&trial);
}

static void memory_of_both_directions(void **state)
{
    struct cudnn_step t = make_step(2, 33, 16, false);
    const size_t unit = PK_POOL_ALIGN, before = dev.pool.current;
    const size_t rows = (2 * 33 * sizeof(float) + unit - 1) / unit * unit;
    const size_t sums = (2 * 33 * 16 * sizeof(float) + unit - 1) / unit * unit;
    must(prepare(&t, false));
    must(prepare(&t, true));
    assert_int_equal(dev.pool.current, before);
    must(run(&t, false));
    assert_int_equal(dev.pool.tag_peak[PK_TAG_WORKSPACE], 768);
    must(run(&t, true));
    assert_int_equal(dev.pool.tag_peak[PK_TAG_WORKSPACE], 768 + rows + sums);
    assert_int_equal(dev.pool.current, before);
    for (unsigned long nth = 1; nth <= 3; nth++) {
        dev.pool.fail_at = nth;
        assert_int_equal(run(&t, true), PK_E_OOM);
        assert_int_equal(dev.pool.current, before);
    }
    must(run(&t, true));
    trial_end(&trial);
}

static void the_next_engine_is_tried(void **state)
{
    struct cudnn_step t = make_step(1, 9, 8, false);
    fake->refuse_plans = 1;
    must(prepare(&t, false));
    must(run(&t, false));
    fake->refuse_plans = 2;
    assert_int_equal(prepare(&t, true), PK_E_INTERNAL);
    assert_non_null(strstr(trial.err.what, "making a plan"));
    assert_non_null(strstr(trial.err.why, "CUDNN_STATUS_FAKE: as the test asked for"));
    must(prepare(&t, true)); /* nothing of the failure is kept */
    trial_end(&trial);
}

static void shapes_without_an_engine_are_unavailable(void **state)
{
    struct cudnn_step t = make_step(1, 9, 8, false);
    fake->engines = 0;
    assert_int_equal(prepare(&t, false), PK_E_UNAVAILABLE);
    assert_non_null(strstr(trial.err.what, "has no attention for this shape"));
    assert_true(trial.err.why[0] && trial.err.fix[0]);
    trial_end(&trial);
}

static void more_engines_than_asked_for(void **state)
{
    struct cudnn_step t = make_step(1, 9, 8, false);
    fake->engines = 40;
    fake->refuse_plans = 100;
    assert_int_equal(prepare(&t, false), PK_E_INTERNAL);
    assert_int_equal(100 - fake->refuse_plans, PK_CUDNN_ENGINES_MAX); /* each of them was tried */
    trial_end(&trial);
}

static void an_execution_that_fails_says_so(void **state)
{
    struct cudnn_step t = make_step(1, 9, 8, false);
    must(prepare(&t, false));
    fake->fail_execute = 1;
    assert_int_equal(run(&t, false), PK_E_INTERNAL);
    assert_non_null(strstr(trial.err.what, "attention, forward"));
    assert_true(trial.err.why[0] && trial.err.fix[0]);
    must(run(&t, false));
    trial_end(&trial);
}

static void without_the_library(void **state)
{
    struct cudnn_step t = make_step(1, 9, 8, false);
    char folder[] = "/tmp/perfkit-no-cudnn-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *other = pk_printf(&arena, "%s/libcudnn.so.7", folder);
    assert_int_equal(symlink("/dev/null", other), 0);
    setenv("PERFKIT_CUDA_LIBS", folder, 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(prepare(&t, false), PK_E_UNAVAILABLE);
        assert_non_null(strstr(trial.err.why, "libcudnn.so.7 is another major version"));
    }
    unlink(other);
    rmdir(folder);
    trial_end(&trial);
}

static void a_library_that_does_not_start(void **state)
{
    struct cudnn_step t = make_step(1, 9, 8, false);
    fake->fail_create = 1;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(prepare(&t, false), PK_E_INTERNAL);
        assert_non_null(strstr(trial.err.what, "starting cuDNN"));
    }
    trial_end(&trial);
}

/* --- a case of attention-scaling, with its own check --- */

static enum pk_status measure(int d_model, bool causal, const char *dtype, struct pk_slice *out)
{
    struct pk_case c = {.probe = pk_probe_find("attention-scaling")};
    while (strcmp(c.probe->variants[c.variant].name, "cudnn") != 0)
        c.variant++;
    json_t *j = json_pack("{s:i, s:i, s:i, s:i, s:b, s:s}", "batch", 2, "heads", 1, "d_model", d_model,
                          "seq_len", 33, "causal", (int)causal, "dtype", dtype);
    assert_int_equal(pk_point_from_json(c.probe->axes, j, &arena, &c.at, &err), PK_OK);
    pk_measure_case(
        &(struct pk_measure){.c = &c,
                             .dev = &dev,
                             .check = true,
                             .seed = 1,
                             .stop = {.min_samples = 3, .max_samples = 5, .max_time_ns = 1000000}},
        &arena, out);
    json_decref(j);
    return out->status;
}

static void cases_check_themselves(void **state)
{
    struct pk_slice s;
    for (int causal = 0; causal < 2; causal++)
        if (measure(16, causal, "bf16", &s) != PK_ST_OK)
            fail_msg("%s", s.message);
}

static void wrong_results_are_found(void **state)
{
    struct pk_slice s;
    fake->wrong = 1.1;
    assert_int_equal(measure(16, false, "bf16", &s), PK_ST_FAILED);
    assert_non_null(strstr(s.message, "bf16 tolerance"));
}

static void what_it_has_not_is_skipped(void **state)
{
    struct pk_slice s;
    assert_int_equal(measure(16, false, "fp32", &s), PK_ST_SKIPPED);
    assert_non_null(strstr(s.message, "no fp32"));
    assert_int_equal(measure(12, false, "bf16", &s), PK_ST_SKIPPED);
    assert_non_null(strstr(s.message, "a multiple of 8"));
    fake->engines = 0;
    assert_int_equal(measure(16, false, "bf16", &s), PK_ST_SKIPPED);
    assert_non_null(strstr(s.message, "has no attention for this shape"));
}

/* The prediction has everything but the library's own workspace, of a size that is known only when there is a plan. */
static void memory_is_predicted(void **state)
{
    const struct pk_probe *probe = pk_probe_find("attention-scaling");
    struct pk_slice s;
    struct pk_case c = {.probe = probe, .variant = PK_ATTENTION_CUDNN};
    json_t *j = json_pack("{s:i, s:i, s:i, s:i, s:b, s:s}", "batch", 2, "heads", 1, "d_model", 16, "seq_len",
                          33, "causal", 0, "dtype", "bf16");
    assert_int_equal(pk_point_from_json(probe->axes, j, &arena, &c.at, &err), PK_OK);
    json_decref(j);
    assert_int_equal(measure(16, false, "bf16", &s), PK_ST_OK);
    for (size_t i = 0; i < s.n_series; i++) {
        const int64_t got = s.series[i].integer ? s.series[i].integer[0] : 0;
        if (strcmp(s.metrics[s.series[i].metric].name, "peak_bytes") == 0)
            assert_int_equal(got, probe->predict(&c, PK_DEVICE_CUDA, PK_PEAK_BYTES) + fake->workspace_bytes);
        if (strcmp(s.metrics[s.series[i].metric].name, "before_backward_bytes") == 0)
            assert_int_equal(got, probe->predict(&c, PK_DEVICE_CPU, 0));
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_device, close_device)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(results_match),
        TEST(graphs_have_the_known_operations),
        TEST(plans_are_kept_per_shape_and_direction),
        TEST(packs_follow_addresses),
        TEST(running_makes_nothing),
        TEST(memory_of_both_directions),
        TEST(the_next_engine_is_tried),
        TEST(shapes_without_an_engine_are_unavailable),
        TEST(more_engines_than_asked_for),
        TEST(an_execution_that_fails_says_so),
        TEST(without_the_library),
        TEST(a_library_that_does_not_start),
        TEST(cases_check_themselves),
        TEST(wrong_results_are_found),
        TEST(what_it_has_not_is_skipped),
        TEST(memory_is_predicted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
