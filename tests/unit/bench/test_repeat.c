/* Repeated regions: exact on the null device, whose fake clock passes declared work, and about right on a real one. */
#include "bench/repeat.h"

#include "base/clock.h"
#include "bench/measure/measure.h"
#include "bench/measure/sample.h"
#include "build_config.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

enum { TICK, PLAIN };
enum { TICK_NS, PLAIN_NS, CALLS };

static const struct pk_axis axes[] = {
    {"tick_ns", PK_AXIS_INT, "ns", 0, 1e6, .def = "30", .born = "30", .help = "time of a repetition"},
    {"plain_ns", PK_AXIS_INT, "ns", 0, 1e6, .def = "0", .born = "0", .help = "time of the other region"},
    {"calls", PK_AXIS_INT, NULL, 0, 9, .def = "1", .born = "1", .help = "occurrences of tick"},
    {0}};
static const struct pk_variant variants[] = {{"repeated", "by pk_repeat"}, {"marked", "by hand"}, {0}};

static bool has_plain(const struct pk_case *c)
{
    return pk_case_int(c, PLAIN_NS) > 0;
}

static const struct pk_region regions[] = {
    {"tick", "x", .repeatable = pk_always}, {"plain", "x", has_plain}, {0}};

static struct pk_device dev;
static struct pk_arena arena;
static struct pk_err err;
static unsigned calls;
static uint64_t chain = 1;

static struct pk_work work(const struct pk_case *c, unsigned region)
{
    return (struct pk_work){.bytes = 1024 * (double)pk_case_int(c, region)}; /* 1024 bytes per ns on null */
}

static struct pk_work tiny(const struct pk_case *c, unsigned region)
{
    return (struct pk_work){.bytes = 256};
}

static enum pk_code setup(struct pk_ctx *ctx, struct pk_err *e)
{
    return PK_OK;
}

/* Each step needs the one before: a few tens of nanoseconds that no processor overlaps and no compiler folds. */
static inline uint64_t steps(uint64_t x)
{
    for (int i = 0; i < 16; i++)
        x = (x ^ x >> 29) * 6364136223846793005u;
    return x;
}

static void unit(void *user)
{
    calls++;
    chain = steps(chain);
}

static enum pk_code run(struct pk_ctx *ctx, struct pk_err *e)
{
    for (int64_t i = 0; i < pk_case_int(ctx->c, CALLS) && ctx->c->variant == 0; i++)
        pk_repeat(ctx, TICK, unit, NULL);
    if (ctx->c->variant == 1) {
        pk_mark_begin(ctx->dev, TICK, PK_LANE_HOST);
        pk_device_delay(ctx->dev, PK_LANE_COMPUTE, 30);
        pk_mark_end(ctx->dev, TICK, PK_LANE_HOST);
    }
    if (!has_plain(ctx->c))
        return PK_OK;
    pk_mark_begin(ctx->dev, PLAIN, PK_LANE_COMPUTE);
    pk_device_delay(ctx->dev, PK_LANE_COMPUTE, (uint64_t)pk_case_int(ctx->c, PLAIN_NS));
    pk_mark_end(ctx->dev, PLAIN, PK_LANE_COMPUTE);
    return PK_OK;
}

static void teardown(struct pk_ctx *ctx)
{
}

static const struct pk_probe probe = {.name = "repeats",
                                      .axes = axes,
                                      .variants = variants,
                                      .regions = regions,
                                      .work = work,
                                      .setup = setup,
                                      .run = run,
                                      .teardown = teardown};

static int open_device(const char *name)
{
    const struct pk_device_options opt = {.threads = 1, .no_bind = true, .limit_bytes = 1 << 26};
    calls = 0;
    return pk_device_open(&dev, name, &opt, &err);
}

static int open_null(void **state)
{
    return open_device("null");
}

static int open_cpu(void **state)
{
    return open_device("cpu");
}

static int close_device(void **state)
{
    pk_device_close(&dev);
    pk_arena_free(&arena);
    return 0;
}

static struct pk_case case_of(int64_t tick_ns, int64_t plain_ns, int64_t n_calls)
{
    return (struct pk_case){
        .probe = &probe,
        .at = {.axes = axes, .n = 3, .v = {{.i = tick_ns}, {.i = plain_ns}, {.i = n_calls}}}};
}

static struct pk_slice measure(const struct pk_case *c, double unit_overhead_ns)
{
    const struct pk_measure m = {.c = c,
                                 .dev = &dev,
                                 .invocation = 1,
                                 .unit_overhead_ns = unit_overhead_ns,
                                 .stop = {.min_samples = 15,
                                          .max_samples = 1000,
                                          .min_time_ns = PK_NS_PER_MS,
                                          .max_time_ns = 100 * PK_NS_PER_MS,
                                          .max_noise = 0.005,
                                          .warmup = 0}};
    struct pk_slice s;
    pk_measure_case(&m, &arena, &s);
    return s;
}

static const char *note(const struct pk_slice *s, const char *key)
{
    for (size_t i = 0; i < s->n_notes; i++)
        if (strcmp(s->notes[i].key, key) == 0)
            return s->notes[i].json;
    return NULL;
}

static const struct pk_series *series(const struct pk_slice *s, const char *metric, int instance,
                                      enum pk_phase phase)
{
    for (size_t i = 0; i < s->n_series; i++) {
        const struct pk_series *r = &s->series[i];
        if (strcmp(s->metrics[r->metric].name, metric) == 0 && r->instance == instance && r->phase == phase)
            return r;
    }
    fail_msg("no %s of instance %d: %s", metric, instance, s->message);
    return NULL;
}

static void assert_series(const struct pk_slice *s, const char *metric, int instance, enum pk_phase phase,
                          int64_t reps, int64_t value)
{
    const struct pk_series *r = series(s, metric, instance, phase);
    assert_int_equal(r->reps, reps);
    for (size_t i = 0; i < r->n; i++)
        assert_int_equal(r->integer[i], value);
}

/* 30 ns, 480, 7680, and ceil(256 * 1.1 * 20000 / 7680) = 734 times: 22020. */
static void enough_repetitions_are_found(void **state)
{
    const struct pk_case c = case_of(30, 0, 1);
    struct pk_slice s = measure(&c, 0);
    assert_int_equal(s.status, PK_ST_OK);
    assert_series(&s, "tick_ns", 0, PK_PHASE_FIRST, 1, 30);
    assert_series(&s, "tick_ns", 0, PK_PHASE_STEADY, 734, 734 * 30);
    assert_series(&s, "tick_host_ns", 0, PK_PHASE_STEADY, 734, 734 * 30);
    assert_string_equal(note(&s, "region_reps"), "{\"tick\":734}");
    assert_string_equal(note(&s, "unit_overhead_ns"), "0.0");
    assert_string_equal(note(&s, "reps"), "1");
    assert_string_equal(note(&s, "calibration_runs"), "5");
    assert_null(note(&s, "near_overhead"));
    /* 22.02 us a sample: the 46th reaches 1 ms, looks come when there are a quarter more */
    size_t n = series(&s, "tick_ns", 0, PK_PHASE_STEADY)->n;
    assert_in_range(n, 46, 46 * 5 / 4 + 1);
    assert_int_equal(calls, 1 + 5 + n); /* the null device is called once for all */
}

static void overhead_is_subtracted(void **state)
{
    const struct pk_case c = case_of(30, 0, 1);
    struct pk_slice s = measure(&c, 5.25);
    assert_series(&s, "tick_ns", 0, PK_PHASE_FIRST, 1, 30);
    assert_series(&s, "tick_ns", 0, PK_PHASE_STEADY, 734, 734 * 30 - 3854); /* 3853.5 */
    assert_string_equal(note(&s, "reps"), "1"); /* what was subtracted was time all the same */
    assert_string_equal(note(&s, "unit_overhead_ns"), "5.25");
    assert_null(note(&s, "near_overhead"));
    s = measure(&c, 15);
    assert_series(&s, "tick_ns", 0, PK_PHASE_STEADY, 734, 734 * 15);
    assert_string_equal(note(&s, "near_overhead"), "[\"tick\"]");
    s = measure(&c, 31);
    assert_series(&s, "tick_ns", 0, PK_PHASE_STEADY, 710, 0); /* the overhead stands for it */
    assert_string_equal(note(&s, "near_overhead"), "[\"tick\"]");
}

/* Each occurrence is 20 us long, and a long region beside it is left alone. */
static void regions_are_apart(void **state)
{
    const struct pk_case c = case_of(2000, 50000, 3);
    struct pk_slice s = measure(&c, 0);
    for (int i = 0; i < 3; i++)
        assert_series(&s, "tick_ns", i, PK_PHASE_STEADY, 11, 11 * 2000);
    assert_series(&s, "plain_ns", 0, PK_PHASE_STEADY, 1, 50000);
    assert_string_equal(note(&s, "reps"), "1");
    assert_string_equal(note(&s, "noise"), "0.0");
    const struct pk_case long_one = case_of(20000, 0, 1);
    s = measure(&long_one, 0);
    assert_series(&s, "tick_ns", 0, PK_PHASE_STEADY, 1, 20000);
}

/* What the stop rule looks at: one repetition of everything, and the time that all of them took. */
static void an_iteration_has_one_repetition_of_each(void **state)
{
    const struct pk_case c = case_of(2000, 50000, 3);
    struct pk_ctx ctx = {.c = &c, .dev = &dev, .arena = &arena, .dry = true};
    struct pk_sampler s;
    int64_t runs;
    assert_int_equal(pk_sampler_first(&s, &ctx, 4, &err), PK_OK);
    assert_int_equal(pk_sampler_choose_reps(&s, 500, &runs, &err), PK_OK);
    assert_int_equal(pk_sample_take(&s, &err), PK_OK);
    assert_int_equal(s.iteration_ns[0], 3 * 2000 + 50000);
    assert_int_equal(s.iteration_ns[1], 3 * 1500 + 50000);
    assert_int_equal(pk_sample_region_ns(&s, 1, TICK), 3 * 1500);
    assert_int_equal(pk_sample_spent_ns(&s, 1), 3 * 11 * 2000 + 50000);
}

static void repetitions_have_a_limit(void **state)
{
    const struct pk_case c = case_of(0, 50000, 1);
    struct pk_slice s = measure(&c, 0);
    assert_series(&s, "tick_ns", 0, PK_PHASE_STEADY, 1, 0); /* no time passes: no number would do */
    struct pk_probe quick = probe;
    quick.work = tiny;
    struct pk_case at = case_of(0, 0, 1);
    at.probe = &quick;
    s = measure(&at, 0);
    assert_series(&s, "tick_ns", 0, PK_PHASE_STEADY, 5 * 20000, 5 * 5000); /* five runs of the most */
    assert_string_equal(note(&s, "reps"), "5");
}

static void nothing(struct pk_ctx *ctx)
{
}

static void samples_that_are_reset_have_repeated_regions(void **state)
{
    struct pk_probe with_reset = probe;
    with_reset.reset = nothing;
    struct pk_case c = case_of(10, 0, 1);
    c.probe = &with_reset;
    struct pk_slice s = measure(&c, 0);
    assert_series(&s, "tick_ns", 0, PK_PHASE_STEADY, 2200, 22000);
    assert_string_equal(note(&s, "reps"), "1");
}

static void a_region_that_is_not_repeated_is_found_out(void **state)
{
    struct pk_case c = case_of(30, 0, 1);
    c.variant = 1;
    struct pk_slice s = measure(&c, 0);
    assert_int_equal(s.status, PK_ST_FAILED);
    assert_non_null(strstr(s.message, "region 'tick' was repeated 1 times"));
    assert_non_null(strstr(s.message, "pk_repeat"));
}

static void a_profile_repeats_nothing(void **state)
{
    const struct pk_case c = case_of(30, 0, 1);
    const struct pk_measure m = {.c = &c, .dev = &dev, .unit_overhead_ns = 10, .stop.profile = 1};
    struct pk_slice s;
    pk_measure_case(&m, &arena, &s);
    assert_series(&s, "tick_ns", 0, PK_PHASE_FIRST, 1, 30);
    assert_series(&s, "tick_ns", 0, PK_PHASE_STEADY, 1, 30);
    assert_int_equal(calls, 2);
    assert_null(note(&s, "region_reps"));
}

static void an_empty_unit_costs_about_a_call(void **state)
{
    double ns = pk_unit_overhead_ns(&dev);
    assert_true(ns > 0.1 && ns < 100); /* sanitizers and slow machines included */
}

/* A million times in a plain loop, in parts of which the quickest counts. */
static double million_ns(void)
{
    enum { PARTS = 200, REPS = 1000000 / PARTS };
    uint64_t quickest = UINT64_MAX;
    for (int p = 0; p < PARTS; p++) {
        uint64_t x = chain, began = pk_clock_ns();
        for (int i = 0; i < REPS; i++)
            x = steps(x);
        chain = x;
        uint64_t ns = pk_clock_ns() - began;
        quickest = ns < quickest ? ns : quickest;
    }
    return (double)quickest / REPS;
}

static double least(const struct pk_series *r)
{
    int64_t v = r->integer[0];
    for (size_t i = 1; i < r->n; i++)
        v = r->integer[i] < v ? r->integer[i] : v;
    return (double)v / (double)r->reps;
}

/* The least of both, several times: a busy machine only adds. */
static void a_unit_takes_what_a_million_take(void **state)
{
    double repeated = INFINITY, alone = INFINITY;
    const struct pk_case c = case_of(0, 0, 1);
#ifdef PK_COVERAGE
    print_message("the library counts its lines: its empty unit costs more than one of the test\n");
    skip();
#endif
    for (int i = 0; i < 8; i++) {
        struct pk_slice s = measure(&c, pk_unit_overhead_ns(&dev));
        assert_int_equal(s.status, PK_ST_OK);
        repeated = fmin(repeated, least(series(&s, "tick_ns", 0, PK_PHASE_STEADY)));
        alone = fmin(alone, million_ns());
    }
    print_message("%.2f ns repeated, %.2f ns of a million\n", repeated, alone);
    assert_true(fabs(repeated / alone - 1) < 0.15);
}

#define ON_NULL(f) cmocka_unit_test_setup_teardown(f, open_null, close_device)
#define ON_CPU(f)  cmocka_unit_test_setup_teardown(f, open_cpu, close_device)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NULL(enough_repetitions_are_found),
        ON_NULL(overhead_is_subtracted),
        ON_NULL(regions_are_apart),
        ON_NULL(an_iteration_has_one_repetition_of_each),
        ON_NULL(repetitions_have_a_limit),
        ON_NULL(samples_that_are_reset_have_repeated_regions),
        ON_NULL(a_region_that_is_not_repeated_is_found_out),
        ON_NULL(a_profile_repeats_nothing),
        ON_CPU(an_empty_unit_costs_about_a_call),
        ON_CPU(a_unit_takes_what_a_million_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
