/* Captured variants on the fake CUDA runtime: replays are what is measured and compared. */
#include "../../device/fake_cuda.h"
#include "bench/measure/measure.h"
#include "device/cuda/cuda.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

enum { FIRST_NS = 6000, SECOND_NS = 3000, BYTES = 256 };
enum { FIRST, SECOND };
enum { PLAIN, CAPTURED, ON_THE_HOST };

static struct pk_device dev;
static struct pk_arena arena;
static struct pk_err err;
static struct {
    int runs, checks, replays_at_check;
    char *src, *dst;
    unsigned long fail_at; /* the n-th call of the second iteration fails; 0 = none */
} seen;

static enum pk_code setup(struct pk_ctx *ctx, struct pk_err *e)
{
    seen.src = pk_device_alloc(ctx->dev, BYTES, PK_TAG_INPUT);
    if (!seen.src)
        return pk_device_oom(ctx->dev, e);
    memset(seen.src, 42, BYTES);
    return PK_OK;
}

/* Memory is taken and given in each iteration, as experiments do. */
static enum pk_code run(struct pk_ctx *ctx, struct pk_err *e)
{
    struct CUstream_st *stream = pk_cuda_stream(ctx->dev, PK_LANE_COMPUTE);
    const enum pk_lane lane = ctx->c->variant == ON_THE_HOST ? PK_LANE_HOST : PK_LANE_COMPUTE;
    if (seen.runs++ == 1 && seen.fail_at) {
        fake_cuda.fail_at = seen.fail_at;
        fake_cuda.fail_with = cudaErrorInvalidValue;
    }
    pk_device_free(ctx->dev, seen.dst);
    pk_mark_begin(ctx->dev, FIRST, lane);
    seen.dst = pk_device_alloc(ctx->dev, BYTES, PK_TAG_OTHER);
    fake_cuda_work(stream, FIRST_NS - FAKE_COPY_NS);
    enum pk_code rc =
        seen.dst ? pk_device_copy(ctx->dev, PK_LANE_COMPUTE, PK_COPY_ON_DEVICE, seen.dst, seen.src, BYTES, e)
                 : pk_device_oom(ctx->dev, e);
    pk_mark_end(ctx->dev, FIRST, lane);
    pk_mark_bytes(ctx->dev, 0);
    pk_mark_begin(ctx->dev, SECOND, lane);
    fake_cuda_work(stream, SECOND_NS);
    pk_mark_end(ctx->dev, SECOND, lane);
    return rc;
}

static enum pk_code check(struct pk_ctx *ctx, bool full, struct pk_err *e)
{
    seen.checks++;
    seen.replays_at_check = fake_cuda.replays;
    const bool same = !memcmp(seen.src, seen.dst, BYTES);
    memset(seen.dst, 0, BYTES);
    return same ? PK_OK : pk_fail(e, PK_E_CHECK, "the copy differs");
}

static void teardown(struct pk_ctx *ctx)
{
    pk_device_free(ctx->dev, seen.src);
    pk_device_free(ctx->dev, seen.dst);
    seen.src = seen.dst = NULL;
}

static struct pk_work work(const struct pk_case *c, unsigned region)
{
    return (struct pk_work){.bytes = 2 * BYTES};
}

static const struct pk_axis axes[] = {{0}};
static const struct pk_variant variants[] = {
    [PLAIN] = {"plain", "launched each time"},
    [CAPTURED] = {"captured", "replayed", .captured = true},
    [ON_THE_HOST] = {"on-the-host", "marks the calling thread, which it must not", .captured = true},
    {0},
};
static const struct pk_region regions[] = {{"first", "a copy"}, {"second", "a pause"}, {0}};
static const struct pk_metric metrics[] = {
    {"held_bytes", .unit = "bytes", .summary = "live", PK_MEMORY_METRIC},
    {0},
};
static const struct pk_probe probe = {.name = "captured",
                                      .axes = axes,
                                      .variants = variants,
                                      .regions = regions,
                                      .metrics = metrics,
                                      .work = work,
                                      .setup = setup,
                                      .run = run,
                                      .check = check,
                                      .teardown = teardown};

static int open_device(void **state)
{
    fake_cuda_reset();
    pk_cuda_use(&fake_cuda_api);
    memset(&seen, 0, sizeof seen);
    return pk_device_open(&dev, "cuda", &(struct pk_device_options){0}, &err);
}

static int close_device(void **state)
{
    pk_device_close(&dev);
    pk_arena_free(&arena);
    pk_cuda_use(NULL);
    return fake_cuda.live_graphs || fake_cuda.live_execs || fake_cuda.live_blocks || fake_cuda.live_events;
}

static struct pk_slice measure(unsigned variant, int64_t profile)
{
    const struct pk_case c = {.probe = &probe, .variant = variant, .at = {.axes = axes}};
    struct pk_slice s;
    pk_measure_case(&(struct pk_measure){.c = &c,
                                         .dev = &dev,
                                         .check = true,
                                         .seed = 1,
                                         .stop = {.min_samples = 20,
                                                  .max_samples = 20,
                                                  .max_time_ns = INT64_MAX,
                                                  .max_noise = 1,
                                                  .warmup = 0,
                                                  .profile = profile}},
                    &arena, &s);
    assert_int_equal(dev.pool.current, 0);
    return s;
}

static const struct pk_series *steady(const struct pk_slice *s, const char *metric)
{
    for (size_t i = 0; i < s->n_series; i++)
        if (!strcmp(s->metrics[s->series[i].metric].name, metric) && s->series[i].phase == PK_PHASE_STEADY)
            return &s->series[i];
    fail_msg("no samples of %s", metric);
    return NULL;
}

/* Sample i of a region, each of whose repetitions has marks of its own. */
static void assert_lasts(const struct pk_series *s, size_t i, uint64_t ns)
{
    const size_t reps = (size_t)s->reps;
    assert_true(fake_cuda_agrees((uint64_t)s->integer[i], ns * reps, reps));
}

static const char *note(const struct pk_slice *s, const char *key)
{
    for (size_t i = 0; i < s->n_notes; i++)
        if (!strcmp(s->notes[i].key, key))
            return s->notes[i].json;
    return "none";
}

/* 9000 ns a run: 3 of them are 20 us long. */
static void replays_are_measured(void **state)
{
    const struct pk_slice s = measure(CAPTURED, 0);
    if (s.status)
        fail_msg("%s", s.message);
    assert_string_equal(note(&s, "graph"), "\"captured\"");
    const struct pk_series *first = steady(&s, "first_ns"), *second = steady(&s, "second_ns");
    assert_true(first->reps > 1 && first->n >= 20);
    for (size_t i = 0; i < first->n; i++) {
        assert_lasts(first, i, FIRST_NS);
        assert_lasts(second, i, SECOND_NS);
    }
    assert_true(seen.runs < fake_cuda.replays * first->reps / 2);
    assert_true(fake_cuda.replays > 20);
}

static void what_is_compared_is_a_replay(void **state)
{
    measure(CAPTURED, 0);
    assert_int_equal(seen.checks, 1);
    assert_int_equal(seen.replays_at_check, 1);
}

static void others_are_launched(void **state)
{
    struct pk_slice s = measure(PLAIN, 0);
    assert_int_equal(s.status, PK_ST_OK);
    assert_string_equal(note(&s, "graph"), "none");
    assert_lasts(steady(&s, "first_ns"), 0, FIRST_NS);
}

/* What a profiler outside records is N iterations, of a captured variant N replays, and nothing of their preparation. */
static void a_profilers_range_has_the_iterations(void **state)
{
    for (int captured = 0; captured < 2; captured++) {
        const struct pk_slice s = measure(captured ? CAPTURED : PLAIN, 3);
        if (s.status)
            fail_msg("%s", s.message);
        assert_string_equal(note(&s, "stop"), "\"profile\"");
        assert_string_equal(note(&s, "check"), "\"not with --profile\"");
        assert_int_equal(steady(&s, "first_ns")->n, 3);
        assert_int_equal(steady(&s, "first_ns")->reps, 1);
        assert_int_equal(fake_cuda.ranges, captured + 1);
        assert_int_equal(fake_cuda.recorded,
                         (captured + 1) * 3 * 3);          /* an iteration is two kernels and a copy */
        assert_int_equal(fake_cuda.replays, captured * 4); /* one is before the range */
        assert_false(fake_cuda.recording);
    }
}

/* Whichever call of an iteration fails, the range is ended: what the next case prepares is not recorded. */
static void a_profilers_range_ends(void **state)
{
    unsigned failed = 0;
    for (seen.fail_at = 1; seen.fail_at < 20; seen.fail_at++) {
        fake_cuda.ranges = seen.runs = 0;
        const struct pk_slice s = measure(PLAIN, 2);
        failed += s.status != PK_ST_OK && fake_cuda.ranges;
        assert_true(!fake_cuda.recording || strstr(s.message, "ending the profiler's range"));
        close_device(NULL);
        const unsigned long next = seen.fail_at;
        open_device(NULL);
        seen.fail_at = next;
    }
    seen.fail_at = 0;
    assert_true(failed > 5);
}

static void the_host_is_not_replayed(void **state)
{
    const struct pk_slice s = measure(ON_THE_HOST, 0);
    assert_int_equal(s.status, PK_ST_FAILED);
    assert_non_null(strstr(s.message, "marks the calling thread"));
}

/* Whichever call fails, the case says so and nothing is left. */
static void every_call_may_fail(void **state)
{
    measure(CAPTURED, 0);
    const unsigned long calls = fake_cuda.calls;
    for (unsigned long n = 1; n < calls && n < 600; n += 3) {
        fake_cuda.fail_at = n;
        fake_cuda.fail_with = cudaErrorInvalidValue;
        const struct pk_slice s = measure(CAPTURED, 0);
        assert_true(s.status == PK_ST_OK || s.message[0]);
        assert_int_equal(fake_cuda.live_execs + fake_cuda.live_graphs, 0);
        if (pk_device_broken(&dev)) {
            close_device(NULL);
            open_device(NULL);
        }
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_device, close_device)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(replays_are_measured),   TEST(what_is_compared_is_a_replay),
        TEST(others_are_launched),    TEST(the_host_is_not_replayed),
        TEST(every_call_may_fail),    TEST(a_profilers_range_has_the_iterations),
        TEST(a_profilers_range_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
