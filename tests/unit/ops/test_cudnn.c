/* Attention by cuDNN on the fake runtime and a fake cuDNN: results, when plans are made and kept, memory, what goes wrong. */
#include "ops/cuda/cudnn/sdpa.h"

#include "../device/fake_cuda.h"
#include "base/rng.h"
#include "device/cuda/cuda.h"
#include "fake_cudnn.h"
#include "reference.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <cudnn_version.h>
#include <dlfcn.h>
#include <math.h>
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

static uint16_t bf16(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static float number(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* One step: bf16 arrays on the device, where host memory is, and the same inputs in fp32 for the reference. */
struct step {
    struct pk_cudnn_shape s;
    void *arrays[PK_CUDNN_ARRAYS];
    struct pk_attention wide;
};

static size_t tokens(const struct step *t)
{
    return t->s.batch * t->s.seq * t->s.dim;
}

static const float *input(struct step *t, enum pk_cudnn_id id)
{
    struct pk_rng rng = {id};
    float *wide = pk_new_n(&arena, float, tokens(t));
    uint16_t *x = t->arrays[id];
    for (size_t i = 0; i < tokens(t); i++)
        wide[i] = number(x[i] = bf16((float)(2 * pk_rng_uniform(&rng) - 1)));
    return wide;
}

static struct step make_step(size_t batch, size_t seq, size_t dim, bool causal)
{
    struct step t = {.s = {.batch = batch, .seq = seq, .dim = dim, .causal = causal, .scale = 0.7f}};
    for (int id = PK_CUDNN_Q; id < PK_CUDNN_ARRAYS; id++) {
        const size_t bytes = id == PK_CUDNN_LSE ? batch * seq * sizeof(float) : tokens(&t) * sizeof(uint16_t);
        t.arrays[id] = pk_device_alloc(&dev, bytes, PK_TAG_OTHER);
        assert_non_null(t.arrays[id]);
    }
    t.wide = (struct pk_attention){.batch = batch, .seq = seq, .dim = dim, .causal = causal, .scale = 0.7f};
    t.wide.q = input(&t, PK_CUDNN_Q);
    t.wide.k = input(&t, PK_CUDNN_K);
    t.wide.v = input(&t, PK_CUDNN_V);
    t.wide.d_o = input(&t, PK_CUDNN_D_O);
    return t;
}

static void end_step(const struct step *t)
{
    for (int id = PK_CUDNN_Q; id < PK_CUDNN_ARRAYS; id++)
        pk_device_free(&dev, t->arrays[id]);
}

static void must(enum pk_code rc)
{
    if (rc)
        fail_msg("%s: %s", err.what, err.why);
}

static enum pk_code prepare(struct step *t, bool backward)
{
    t->s.backward = backward;
    return pk_cudnn_prepare(&dev, &t->s, &err);
}

static enum pk_code run(struct step *t, bool backward)
{
    t->s.backward = backward;
    return pk_cudnn_run(&dev, &t->s, t->arrays, &err);
}

/* Results are rounded to 8 bits; so is o, which gradients are made of. */
static void assert_near(const uint16_t *got, const double *want, size_t n)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += want[i] * want[i];
    const double rms = sqrt(squares / (double)n);
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)number(got[i]) - want[i]) <= 0x1p-6 * (fabs(want[i]) + rms) + 0x1p-9))
            fail_msg("element %zu is %g, should be %g", i, (double)number(got[i]), want[i]);
}

static void check(size_t batch, size_t seq, size_t dim, bool causal)
{
    struct step t = make_step(batch, seq, dim, causal);
    const size_t n = tokens(&t);
    const struct pk_reference_attention want = {.p = pk_new_n(&arena, double, batch *seq *seq),
                                                .o = pk_new_n(&arena, double, n),
                                                .lse = pk_new_n(&arena, double, batch *seq),
                                                .dq = pk_new_n(&arena, double, n),
                                                .dk = pk_new_n(&arena, double, n),
                                                .dv = pk_new_n(&arena, double, n)};
    pk_reference_attention(&t.wide, &want);
    must(prepare(&t, false));
    assert_int_equal(fake->operations, causal ? 14 : 10);
    must(prepare(&t, true));
    assert_int_equal(fake->operations, causal ? 22 : 18);
    must(run(&t, false));
    must(run(&t, true));
    const float *lse = t.arrays[PK_CUDNN_LSE];
    for (size_t i = 0; i < batch * seq; i++)
        assert_true(fabs((double)lse[i] - want.lse[i]) < 1e-5);
    assert_near(t.arrays[PK_CUDNN_O], want.o, n);
    assert_near(t.arrays[PK_CUDNN_DQ], want.dq, n);
    assert_near(t.arrays[PK_CUDNN_DK], want.dk, n);
    assert_near(t.arrays[PK_CUDNN_DV], want.dv, n);
    end_step(&t);
}

static void results_match(void **state)
{
    for (int causal = 0; causal < 2; causal++) {
        check(1, 1, 8, causal);
        check(3, 7, 16, causal);
        check(2, 65, 24, causal);
    }
    assert_ptr_equal(fake->stream, pk_cuda_stream(&dev, PK_LANE_COMPUTE));
}

static void plans_are_kept_per_shape_and_direction(void **state)
{
    struct step t = make_step(2, 9, 8, false), other = make_step(2, 9, 8, true);
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
    end_step(&t);
    end_step(&other);
}

/* The pool gives the same addresses again: what a plan is executed with is then not written anew. */
static void packs_follow_addresses(void **state)
{
    struct step t = make_step(1, 9, 8, false), other = make_step(1, 9, 8, false);
    must(prepare(&t, false));
    must(run(&t, false));
    must(run(&t, false));
    assert_int_equal(fake->packs, 1);
    must(run(&other, false));
    assert_int_equal(fake->packs, 2);
    assert_memory_equal(t.arrays[PK_CUDNN_O], other.arrays[PK_CUDNN_O], tokens(&t) * sizeof(uint16_t));
    end_step(&t);
    end_step(&other);
}

/* A plan is made with the host's memory and seconds of its time: both would trip the assertion of a timed region. */
static void running_makes_nothing(void **state)
{
    struct step t = make_step(1, 9, 8, false);
    must(prepare(&t, false));
    must(run(&t, false)); /* takes the pool's memory */
    const int plans = fake->plans;
    pk_timed_region(true);
    enum pk_code rc = run(&t, false);
    pk_timed_region(false);
    must(rc);
    assert_int_equal(fake->plans, plans);
    end_step(&t);
}

static void memory_of_both_directions(void **state)
{
    struct step t = make_step(2, 33, 16, false);
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
    end_step(&t);
}

static void the_next_engine_is_tried(void **state)
{
    struct step t = make_step(1, 9, 8, false);
    fake->refuse_plans = 1;
    must(prepare(&t, false));
    must(run(&t, false));
    fake->refuse_plans = 2;
    assert_int_equal(prepare(&t, true), PK_E_INTERNAL);
    assert_non_null(strstr(err.what, "making a plan"));
    assert_non_null(strstr(err.why, "CUDNN_STATUS_FAKE: as the test asked for"));
    must(prepare(&t, true)); /* nothing of the failure is kept */
    end_step(&t);
}

static void shapes_without_an_engine_are_unavailable(void **state)
{
    struct step t = make_step(1, 9, 8, false);
    fake->engines = 0;
    assert_int_equal(prepare(&t, false), PK_E_UNAVAILABLE);
    assert_non_null(strstr(err.what, "has no attention for this shape"));
    assert_true(err.why[0] && err.fix[0]);
    end_step(&t);
}

static void an_execution_that_fails_says_so(void **state)
{
    struct step t = make_step(1, 9, 8, false);
    must(prepare(&t, false));
    fake->fail_execute = 1;
    assert_int_equal(run(&t, false), PK_E_INTERNAL);
    assert_non_null(strstr(err.what, "attention, forward"));
    assert_true(err.why[0] && err.fix[0]);
    must(run(&t, false));
    end_step(&t);
}

static void without_the_library(void **state)
{
    struct step t = make_step(1, 9, 8, false);
    char folder[] = "/tmp/perfkit-no-cudnn-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *other = pk_printf(&arena, "%s/libcudnn.so.7", folder);
    assert_int_equal(symlink("/dev/null", other), 0);
    setenv("PERFKIT_CUDA_LIBS", folder, 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(prepare(&t, false), PK_E_UNAVAILABLE);
        assert_non_null(strstr(err.why, "libcudnn.so.7 is another major version"));
    }
    unlink(other);
    rmdir(folder);
    end_step(&t);
}

static void a_library_that_does_not_start(void **state)
{
    struct step t = make_step(1, 9, 8, false);
    fake->fail_create = 1;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(prepare(&t, false), PK_E_INTERNAL);
        assert_non_null(strstr(err.what, "starting cuDNN"));
    }
    end_step(&t);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_device, close_device)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(results_match),
        TEST(plans_are_kept_per_shape_and_direction),
        TEST(packs_follow_addresses),
        TEST(running_makes_nothing),
        TEST(memory_of_both_directions),
        TEST(the_next_engine_is_tried),
        TEST(shapes_without_an_engine_are_unavailable),
        TEST(an_execution_that_fails_says_so),
        TEST(without_the_library),
        TEST(a_library_that_does_not_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
