/* Counter passes on the null device, with a source made up here that counts the device's nanoseconds. */
#include "bench/measure/measure.h"
#include "device/null.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

enum { BUSY_NS = 100000, COPY_NS = 8, SAMPLES = 6, NS = 0, EVERY_OTHER, PERCENT, EVENTS };

static struct pk_device dev;
static struct pk_arena arena;
static struct pk_err err;

/* What the source was told, and what it shall do. */
static struct {
    uint64_t began_ns, region_ns, started_ns, iteration_ns;
    int opened, closed, starts, begins, reads, passes;
    bool running, in_region, refuse_start, lose_stop;
} src;

static enum pk_code open_source(const struct pk_counter_env *env, const struct pk_source_plan *p,
                                struct pk_device *d, struct pk_arena *a, void **handle, struct pk_err *e)
{
    src.opened++;
    *handle = &src;
    return PK_OK;
}

static enum pk_code start(void *handle, struct pk_err *e)
{
    assert_false(src.running);
    if (src.refuse_start)
        return pk_fail(e, PK_E_UNAVAILABLE, "the counters are busy");
    src.running = true;
    src.starts++;
    src.region_ns = 0;
    src.started_ns = pk_device_now_ns(&dev);
    return PK_OK;
}

static enum pk_code stop(void *handle, bool *again, struct pk_err *e)
{
    assert_true(src.running && !src.in_region);
    src.running = false;
    src.iteration_ns = pk_device_now_ns(&dev) - src.started_ns;
    *again = src.passes > 1 && src.starts % src.passes;
    return src.lose_stop ? pk_fail(e, PK_E_IO, "2 ranges were dropped") : PK_OK;
}

static void mark(void *handle, unsigned region, bool at_end)
{
    if (at_end) {
        assert_true(src.in_region);
        src.in_region = false;
        src.region_ns += pk_device_now_ns(&dev) - src.began_ns;
    } else {
        assert_true(src.running && !src.in_region && region == 0);
        src.in_region = true;
        src.begins++;
        src.began_ns = pk_device_now_ns(&dev);
    }
}

static enum pk_code read_counts(void *handle, int region, struct pk_reading *out, struct pk_err *e)
{
    assert_false(src.running);
    out[NS] = (struct pk_reading){.integer = (int64_t)(region < 0 ? src.iteration_ns : src.region_ns)};
    out[EVERY_OTHER] = (struct pk_reading){
        .integer = 7, .unavailable = src.reads++ % 4 < 2, .enabled_ns = 10, .running_ns = 5};
    out[PERCENT] = (struct pk_reading){.real = 12.5, .is_real = true};
    return PK_OK;
}

static void close_source(void *handle)
{
    src.closed++;
}

static const struct pk_event events[EVENTS] = {
    {"device_ns", "ns", "x", "made-up", "", "user", PK_QUALITY_EXACT, ""},
    {"now_and_then", "1", "x", "made-up", "pmu::RARE", "", PK_QUALITY_APPROXIMATE, "counts what was tried"},
    {"busy", "%", "x", "made-up", "", "", PK_QUALITY_EXACT, "", PK_EVENT_LEVEL},
};

static struct pk_source source_with(unsigned caps)
{
    return (struct pk_source){.name = "made-up",
                              .summary = "x",
                              .caps = caps,
                              .open = open_source,
                              .start = start,
                              .stop = stop,
                              .mark = mark,
                              .read = read_counts,
                              .close = close_source};
}

static struct pk_slice measure(const struct pk_source *source)
{
    const struct pk_probe *p = pk_probe_find("selftest");
    const struct pk_case c = {.probe = p,
                              .at = {.axes = p->axes,
                                     .n = 4,
                                     .absent = {[2] = true},
                                     .v = {{.i = BUSY_NS}, {.i = 4096}, [3] = {.s = "random"}}}};
    const struct pk_source_plan plan = {.source = source, .events = events, .n = EVENTS, .passes = 2};
    const struct pk_measure m = {.c = &c,
                                 .dev = &dev,
                                 .pass = PK_PASS_COUNTER,
                                 .invocation = 1,
                                 .seed = 1,
                                 .counters = &plan,
                                 .stop = {.min_samples = SAMPLES,
                                          .max_samples = SAMPLES,
                                          .max_time_ns = INT64_MAX,
                                          .max_noise = 1,
                                          .warmup = 1}};
    struct pk_slice s;
    pk_measure_case(&m, &arena, &s);
    assert_int_equal(src.opened, 1);
    assert_int_equal(src.closed, 1);
    assert_null(dev.marks.watcher);
    return s;
}

static const struct pk_series *series(const struct pk_slice *s, const char *metric)
{
    for (size_t i = 0; i < s->n_series; i++)
        if (!strcmp(s->metrics[s->series[i].metric].name, metric) && s->series[i].phase == PK_PHASE_STEADY)
            return &s->series[i];
    return NULL;
}

static const char *note(const struct pk_slice *s, const char *key)
{
    for (size_t i = 0; i < s->n_notes; i++)
        if (!strcmp(s->notes[i].key, key))
            return s->notes[i].json;
    fail_msg("no note %s", key);
    return "";
}

static int open_null(void **state)
{
    memset(&src, 0, sizeof src);
    return pk_device_open(&dev, "null", &(struct pk_device_options){0}, &err);
}

static int close_null(void **state)
{
    pk_device_close(&dev);
    pk_arena_free(&arena);
    return 0;
}

static void regions_are_counted_and_the_whole(void **state)
{
    const struct pk_source source = source_with(PK_SOURCE_REGIONS);
    const struct pk_slice s = measure(&source);
    if (s.status)
        fail_msg("%s", s.message);
    const struct pk_series *region = series(&s, "work.device_ns"), *all = series(&s, "iteration.device_ns");
    assert_true(region && all && series(&s, "work_ns"));
    assert_int_equal(region->n, SAMPLES);
    for (size_t i = 0; i < region->n; i++) {
        assert_int_equal(region->integer[i], (BUSY_NS + COPY_NS) * region->reps);
        assert_true(all->integer[i] >= region->integer[i]);
        assert_int_equal(region->ordinal[i], 2 + (int64_t)i);
    }
    assert_int_equal(src.begins, src.starts * region->reps);
    assert_string_equal(s.metrics[region->metric].source, "counter");
    assert_string_equal(s.metrics[region->metric].unit, "ns");
}

static void what_was_not_counted_is_not_zero(void **state)
{
    const struct pk_source source = source_with(PK_SOURCE_REGIONS);
    const struct pk_slice s = measure(&source);
    const struct pk_series *some = series(&s, "work.now_and_then"), *real = series(&s, "work.busy");
    assert_true(some && some->real && real && real->real);
    size_t unavailable = 0;
    for (size_t i = 0; i < some->n; i++) {
        unavailable += isnan(some->real[i]);
        assert_true(isnan(some->real[i]) || some->real[i] == 7);
    }
    assert_int_equal(unavailable, SAMPLES / 2);
    assert_true(real->real[0] == 12.5 && real->reps == 1); /* a level */
    assert_string_equal(note(&s, "counters"),
                        "{\"source\":\"made-up\",\"passes\":2,\"events\":{"
                        "\"device_ns\":{\"native\":\"\",\"quality\":\"exact\",\"modes\":\"user\"},"
                        "\"now_and_then\":{\"native\":\"pmu::RARE\",\"quality\":\"approximate\","
                        "\"note\":\"counts what was tried\",\"absent\":3,\"scaled_from\":0.5},"
                        "\"busy\":{\"native\":\"\",\"quality\":\"exact\"}}}");
}

static void a_source_without_regions_counts_the_whole(void **state)
{
    const struct pk_source source = source_with(0);
    const struct pk_slice s = measure(&source);
    assert_int_equal(s.status, PK_ST_OK);
    assert_int_equal(src.begins, 0);
    assert_null(series(&s, "work.device_ns"));
    assert_true(series(&s, "iteration.device_ns")->integer[0] >= BUSY_NS);
}

static void a_replaying_source_gets_its_passes(void **state)
{
    const struct pk_source source = source_with(PK_SOURCE_REGIONS | PK_SOURCE_REPLAYS);
    src.passes = 3;
    const struct pk_slice s = measure(&source);
    assert_int_equal(s.status, PK_ST_OK);
    assert_int_equal(src.starts, 3 * (SAMPLES + 1)); /* one sample is warm-up */
    assert_int_equal(series(&s, "work.device_ns")->integer[0],
                     (BUSY_NS + COPY_NS) * series(&s, "work.device_ns")->reps);
}

static void a_source_that_fails_fails_the_case(void **state)
{
    const struct pk_source source = source_with(PK_SOURCE_REGIONS);
    src.refuse_start = true;
    struct pk_slice s = measure(&source);
    assert_int_equal(s.status, PK_ST_SKIPPED);
    assert_string_equal(s.message, "the counters are busy");
    memset(&src, 0, sizeof src);
    src.lose_stop = true;
    s = measure(&source);
    assert_int_equal(s.status, PK_ST_FAILED);
    assert_string_equal(s.message, "2 ranges were dropped");
    assert_int_equal(s.n_series, 0);
}

#define ON_NULL(test) cmocka_unit_test_setup_teardown(test, open_null, close_null)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NULL(regions_are_counted_and_the_whole),         ON_NULL(what_was_not_counted_is_not_zero),
        ON_NULL(a_source_without_regions_counts_the_whole), ON_NULL(a_replaying_source_gets_its_passes),
        ON_NULL(a_source_that_fails_fails_the_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
