/* Measuring on the CPU: checks compare real results, times are real, and come out about right. */
#include "bench/measure/measure.h"

#include "base/clock.h"
#include "bench/measure/steps.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

enum { BUSY_NS, MEMORY };
enum { OK, CHECK_FAILS = 9 };

static struct pk_device dev;
static struct pk_arena arena;
static struct pk_err err;

static int open_cpu(void **state)
{
    const struct pk_device_options opt = {.threads = 1, .no_bind = true, .limit_bytes = 1 << 26};
    return pk_device_open(&dev, "cpu", &opt, &err);
}

static int close_cpu(void **state)
{
    pk_device_close(&dev);
    pk_arena_free(&arena);
    return 0;
}

static struct pk_case case_of(unsigned variant)
{
    const struct pk_probe *p = pk_probe_find("selftest");
    return (struct pk_case){.probe = p,
                            .variant = variant,
                            .at = {.axes = p->axes,
                                   .n = 4,
                                   .absent = {[2] = true},
                                   .v = {{.i = 200000}, {.i = 5000}, [3] = {.s = "random"}}}};
}

static struct pk_slice measure(unsigned variant, bool check)
{
    const struct pk_case c = case_of(variant);
    const struct pk_measure m = {.c = &c,
                                 .dev = &dev,
                                 .check = check,
                                 .seed = 3,
                                 .stop = {.min_samples = 15,
                                          .max_samples = 1000,
                                          .max_time_ns = 100 * PK_NS_PER_MS,
                                          .max_noise = 0.5,
                                          .warmup = -1}};
    struct pk_slice s;
    pk_measure_case(&m, &arena, &s);
    assert_int_equal(dev.pool.current, 0);
    return s;
}

static const char *note(const struct pk_slice *s, const char *key)
{
    for (size_t i = 0; i < s->n_notes; i++)
        if (strcmp(s->notes[i].key, key) == 0)
            return s->notes[i].json;
    return "";
}

static void checked_and_timed(void **state)
{
    struct pk_slice s = measure(OK, true);
    assert_int_equal(s.status, PK_ST_OK);
    assert_string_equal(note(&s, "check"), "\"passed\"");
    size_t n = 0;
    for (size_t i = 0; i < s.n_series; i++) {
        const struct pk_series *r = &s.series[i];
        if (r->phase != PK_PHASE_STEADY || strcmp(s.metrics[r->metric].name, "work_ns") != 0)
            continue;
        n = r->n;
        for (size_t k = 0; k < r->n; k++)
            assert_in_range(r->integer[k], 200000, PK_NS_PER_S); /* never less than it spins for */
    }
    assert_true(n >= 3);
}

static void wrong_results_store_nothing(void **state)
{
    struct pk_slice s = measure(CHECK_FAILS, true);
    assert_int_equal(s.status, PK_ST_FAILED);
    assert_int_equal(s.n_series, 0);
    assert_non_null(strstr(s.message, "check at busy_ns=0 memory=4: byte "));
    assert_non_null(strstr(s.message, "should be"));
    s = measure(CHECK_FAILS, false);
    assert_int_equal(s.status, PK_ST_OK);
    assert_string_equal(note(&s, "check"), "\"not in this invocation\"");
}

/* Without check points the real shape is compared, after the first iteration. */
static void the_real_shape_is_compared(void **state)
{
    struct pk_probe probe = *pk_probe_find("selftest");
    probe.check_points = NULL;
    struct pk_case c = case_of(CHECK_FAILS);
    c.probe = &probe;
    const struct pk_measure m = {
        .c = &c, .dev = &dev, .check = true, .stop = {.max_samples = 5, .warmup = -1}};
    struct pk_slice s;
    pk_measure_case(&m, &arena, &s);
    assert_int_equal(s.status, PK_ST_FAILED);
    assert_memory_equal(s.message, "byte ", 5);
}

static unsigned asked, sound_until;

static enum pk_code sound_for_a_while(struct pk_ctx *ctx, bool last, struct pk_err *e)
{
    if (last || ++asked <= sound_until)
        return PK_OK;
    pk_fail(e, PK_E_CHECK, "the loss is nan");
    return pk_why(e, "it is");
}

static struct pk_slice measure_while_sound(unsigned n, int64_t samples)
{
    struct pk_probe probe = *pk_probe_find("selftest");
    struct pk_case c = case_of(OK);
    struct pk_slice s;
    probe.inspect = sound_for_a_while;
    asked = 0, sound_until = n;
    c.probe = &probe;
    const struct pk_measure m = {
        .c = &c,
        .dev = &dev,
        .stop = {.min_samples = samples, .max_samples = samples, .max_time_ns = PK_NS_PER_S, .warmup = 0}};
    pk_measure_case(&m, &arena, &s);
    return s;
}

/* Whether or not results are compared in this invocation. */
static void every_sample_must_be_sound(void **state)
{
    struct pk_slice s =
        measure_while_sound(6, 6); /* the first iteration and five samples; the sixth is not */
    assert_int_equal(s.status, PK_ST_FAILED);
    assert_string_equal(s.message, "after sample 6: the loss is nan: it is");
    assert_int_equal(s.n_series, 0);
    s = measure_while_sound(0, 5);
    assert_string_equal(s.message, "in the first iteration: the loss is nan: it is");
    assert_int_equal(measure_while_sound(6, 5).status, PK_ST_OK);
    assert_int_equal(asked, 6);
}

static void check_cases_keep_other_axes(void **state)
{
    const struct pk_case c = case_of(OK);
    struct pk_case at;
    assert_int_equal(pk_check_case(&c, "memory=12", &arena, &at, &err), PK_OK);
    assert_int_equal(pk_case_int(&at, MEMORY), 12);
    assert_int_equal(pk_case_int(&at, BUSY_NS), 200000);
    assert_int_equal(pk_check_case(&c, "memory=3", &arena, &at, &err), PK_E_USAGE);
}

#define ON_CPU(f) cmocka_unit_test_setup_teardown(f, open_cpu, close_cpu)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_CPU(checked_and_timed),           ON_CPU(wrong_results_store_nothing),
        ON_CPU(the_real_shape_is_compared),  ON_CPU(every_sample_must_be_sound),
        ON_CPU(check_cases_keep_other_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
