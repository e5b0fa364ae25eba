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
    seen.runs++;
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

static struct pk_slice measure(unsigned variant, bool once)
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
                                                  .once = once}},
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
    const struct pk_slice s = measure(CAPTURED, false);
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
    measure(CAPTURED, false);
    assert_int_equal(seen.checks, 1);
    assert_int_equal(seen.replays_at_check, 1);
}

static void others_are_launched(void **state)
{
    struct pk_slice s = measure(PLAIN, false);
    assert_int_equal(s.status, PK_ST_OK);
    assert_string_equal(note(&s, "graph"), "none");
    assert_lasts(steady(&s, "first_ns"), 0, FIRST_NS);
    s = measure(CAPTURED, true); /* --once: for profilers, which name launches */
    assert_int_equal(s.status, PK_ST_OK);
    assert_int_equal(fake_cuda.replays, 0);
}

static void the_host_is_not_replayed(void **state)
{
    const struct pk_slice s = measure(ON_THE_HOST, false);
    assert_int_equal(s.status, PK_ST_FAILED);
    assert_non_null(strstr(s.message, "marks the calling thread"));
}

/* Whichever call fails, the case says so and nothing is left. */
static void every_call_may_fail(void **state)
{
    measure(CAPTURED, false);
    const unsigned long calls = fake_cuda.calls;
    for (unsigned long n = 1; n < calls && n < 600; n += 3) {
        fake_cuda.fail_at = n;
        fake_cuda.fail_with = cudaErrorInvalidValue;
        const struct pk_slice s = measure(CAPTURED, false);
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
        TEST(replays_are_measured),     TEST(what_is_compared_is_a_replay), TEST(others_are_launched),
        TEST(the_host_is_not_replayed), TEST(every_call_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
