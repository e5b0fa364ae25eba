/* Measuring on the null device: every expected number is computed by hand from what probes/selftest.c
 * declares. An iteration of busy_ns=B memory=4KiB takes B + 8 ns there: the copy is 8192 bytes at 1024 bytes
 * per ns. */
#include "bench/measure/measure.h"

#include "base/clock.h"
#include "device/null.h"
#include "json/json.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COPY_NS = 8 };

static struct pk_device dev;
static struct pk_arena arena;
static struct pk_err err;

static const struct pk_stop defaults = {.min_samples = 15,
                                        .max_samples = 10000,
                                        .min_time_ns = 200 * PK_NS_PER_MS,
                                        .max_time_ns = 1000 * PK_NS_PER_MS,
                                        .max_noise = 0.005,
                                        .warmup = -1};

static int open_null(void **state)
{
    const struct pk_device_options opt = {0};
    return pk_device_open(&dev, "null", &opt, &err);
}

static int close_null(void **state)
{
    pk_device_close(&dev);
    pk_arena_free(&arena);
    return 0;
}

static struct pk_case case_of(const struct pk_probe *p, const char *variant, int64_t busy_ns, int64_t memory)
{
    struct pk_case c = {.probe = p,
                        .at = {.axes = p->axes,
                               .n = 4,
                               .absent = {[2] = true},
                               .v = {{.i = busy_ns}, {.i = memory}, [3] = {.s = "random"}}}};
    while (strcmp(p->variants[c.variant].name, variant) != 0)
        c.variant++;
    return c;
}

static struct pk_slice measure(const char *variant, int64_t busy_ns, const struct pk_stop *stop)
{
    const struct pk_case c = case_of(pk_probe_find("selftest"), variant, busy_ns, 4096);
    const struct pk_measure m = {
        .c = &c, .dev = &dev, .invocation = 2, .check = true, .seed = 1, .stop = *stop};
    struct pk_slice s;
    pk_measure_case(&m, &arena, &s);
    assert_int_equal(dev.pool.current, 0);
    assert_int_equal(s.invocation, 2);
    return s;
}

static const char *note(const struct pk_slice *s, const char *key)
{
    for (size_t i = 0; i < s->n_notes; i++)
        if (strcmp(s->notes[i].key, key) == 0)
            return s->notes[i].json;
    fail_msg("no note %s", key);
    return "";
}

static const struct pk_series *series(const struct pk_slice *s, const char *metric, int instance,
                                      enum pk_phase phase)
{
    for (size_t i = 0; i < s->n_series; i++) {
        const struct pk_series *r = &s->series[i];
        if (strcmp(s->metrics[r->metric].name, metric) == 0 && r->instance == instance && r->phase == phase)
            return r;
    }
    return NULL;
}

static void assert_values(const struct pk_series *r, size_t n, int64_t first_ordinal, int64_t value)
{
    assert_non_null(r);
    assert_int_equal(r->n, n);
    assert_null(r->real);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(r->ordinal[i], first_ordinal + (int64_t)i);
        assert_int_equal(r->integer[i], value);
    }
}

static void exact_times(void **state)
{
    struct pk_stop stop = defaults;
    stop.min_time_ns = 0;
    struct pk_slice s = measure("ok", 100000, &stop);
    assert_int_equal(s.status, PK_ST_OK);
    assert_string_equal(s.message, "");
    const char *const metrics[] = {"work_ns", "work_host_ns"};
    for (int i = 0; i < 2; i++) {
        assert_values(series(&s, metrics[i], 0, PK_PHASE_FIRST), 1, 0, 100000 + COPY_NS);
        assert_values(series(&s, metrics[i], 0, PK_PHASE_STEADY), 15, 1, 100000 + COPY_NS);
        assert_null(series(&s, metrics[i], 0, PK_PHASE_WARMUP));
        assert_null(series(&s, metrics[i], 0, PK_PHASE_DISTURBED));
    }
    assert_values(series(&s, "held_bytes", 0, PK_PHASE_STEADY), 15, 1, 2 * 4096);
    assert_values(series(&s, "peak_bytes", 0, PK_PHASE_STEADY), 1, 0, 2 * 4096);
    assert_null(series(&s, "part_ns", 0, PK_PHASE_STEADY));
    assert_string_equal(note(&s, "stop"), "\"noise\"");
    assert_string_equal(note(&s, "reps"), "1");
    assert_string_equal(note(&s, "warmup_cut"), "0");
    assert_string_equal(note(&s, "warmup_rule"), "\"mser5\"");
    assert_string_equal(note(&s, "outliers"), "0");
    assert_string_equal(note(&s, "outlier_ordinals"), "[]");
    assert_string_equal(note(&s, "noise"), "0.0");
    assert_string_equal(note(&s, "disturbed"), "0");
    assert_string_equal(note(&s, "class"), "\"flat\"");
    assert_string_equal(note(&s, "check"), "\"this device computes nothing\"");
    /* first, one to choose repetitions, 15 samples; set-up's copy is not made on a dry device */
    assert_int_equal(s.elapsed_ns, 17 * (100000 + COPY_NS));
}

static void work_shorter_than_20_us_is_repeated(void **state)
{
    struct pk_slice s = measure("ok", 1000 - COPY_NS, &defaults);
    /* 1 -> 1000 ns; 16 (at most 16 times more) -> 16000 ns; ceil(16 * 1.1 * 20 / 16) = 22 -> 22000 ns */
    assert_string_equal(note(&s, "reps"), "22");
    assert_string_equal(note(&s, "calibration_runs"), "39");
    const struct pk_series *first = series(&s, "work_ns", 0, PK_PHASE_FIRST);
    assert_int_equal(first->reps, 1);
    assert_int_equal(first->integer[0], 1000);
    const struct pk_series *r = series(&s, "work_ns", 0, PK_PHASE_STEADY);
    assert_int_equal(r->reps, 22);
    assert_int_equal(r->integer[0], 22000);
    assert_int_equal(series(&s, "held_bytes", 0, PK_PHASE_STEADY)->reps, 1);
}

static void repetitions_have_a_limit(void **state)
{
    struct pk_stop stop = defaults;
    stop.max_samples = 20;
    const struct pk_case c = case_of(pk_probe_find("selftest"), "ok", 0, 4);
    const struct pk_measure m = {.c = &c, .dev = &dev, .stop = stop};
    struct pk_slice s;
    pk_measure_case(&m, &arena, &s);
    assert_string_equal(note(&s, "reps"), "10000");
    assert_string_equal(note(&s, "stop"), "\"max-samples\"");
    assert_values(series(&s, "work_ns", 0, PK_PHASE_STEADY), 20, 1, 10000);
}

static void stops_for_time(void **state)
{
    struct pk_slice s = measure("noisy", 100 * PK_NS_PER_MS, &defaults);
    assert_string_equal(note(&s, "stop"), "\"max-time\"");
    const struct pk_series *r = series(&s, "work_ns", 0, PK_PHASE_STEADY);
    assert_in_range(r->n, 15, 20); /* the samples asked for, however long they take */
    struct pk_stop few = defaults;
    few.min_samples = 3;
    s = measure("ok", 3 * (int64_t)PK_NS_PER_S, &few);
    assert_string_equal(note(&s, "stop"), "\"max-time\"");
    assert_values(series(&s, "work_ns", 0, PK_PHASE_STEADY), 3, 1, 3 * (int64_t)PK_NS_PER_S + COPY_NS);
    assert_string_equal(note(&s, "noise"), "null");
}

static void stops_for_samples(void **state)
{
    struct pk_stop stop = defaults;
    stop.max_samples = 77;
    struct pk_slice s = measure("ok", 100000, &stop);
    assert_string_equal(note(&s, "stop"), "\"max-samples\"");
    assert_int_equal(series(&s, "work_ns", 0, PK_PHASE_STEADY)->n, 77);
    stop.max_samples = 5; /* below min_samples */
    s = measure("ok", 100000, &stop);
    assert_int_equal(series(&s, "work_ns", 0, PK_PHASE_STEADY)->n, 5);
}

static void stops_for_noise_once_there_is_time(void **state)
{
    struct pk_slice s = measure("ok", 1000000, &defaults);
    assert_string_equal(note(&s, "stop"), "\"noise\"");
    /* 0.2 s are reached with the 200th sample; looks come every 20 ms */
    assert_in_range(series(&s, "work_ns", 0, PK_PHASE_STEADY)->n, 200, 221);
}

static void noise_is_estimated(void **state)
{
    struct pk_stop stop = defaults;
    stop.max_noise = 0.02;
    stop.max_time_ns = 100 * (int64_t)PK_NS_PER_S;
    struct pk_slice s = measure("noisy", 1000000, &stop);
    assert_string_equal(note(&s, "stop"), "\"noise\"");
    double noise = strtod(note(&s, "noise"), NULL);
    assert_true(noise > 0.005 && noise <= 0.02);
    stop.max_noise = 0.01;
    size_t n = series(&s, "work_ns", 0, PK_PHASE_STEADY)->n;
    s = measure("noisy", 1000000, &stop);
    assert_true(series(&s, "work_ns", 0, PK_PHASE_STEADY)->n > n);
}

static void warmup_is_found_and_cut(void **state)
{
    struct pk_slice s = measure("slow-start", 1000000, &defaults);
    /* 30 slow iterations: the first, then 29 samples (no repetitions: 2 ms is plenty); cut in batches of 5 */
    assert_string_equal(note(&s, "warmup_cut"), "30");
    assert_string_equal(note(&s, "class"), "\"warmup\"");
    const struct pk_series *w = series(&s, "work_ns", 0, PK_PHASE_WARMUP);
    assert_int_equal(w->n, 30);
    assert_int_equal(w->ordinal[0], 1);
    assert_int_equal(w->integer[28], 2000000 + COPY_NS);
    assert_int_equal(w->integer[29], 1000000 + COPY_NS);
    const struct pk_series *r = series(&s, "work_ns", 0, PK_PHASE_STEADY);
    assert_int_equal(r->ordinal[0], 31);
    for (size_t i = 0; i < r->n; i++)
        assert_int_equal(r->integer[i], 1000000 + COPY_NS);
}

static void warmup_can_be_fixed(void **state)
{
    struct pk_stop stop = defaults;
    stop.warmup = 7;
    stop.min_time_ns = 0;
    struct pk_slice s = measure("ok", 100000, &stop);
    assert_string_equal(note(&s, "warmup_cut"), "7");
    assert_string_equal(note(&s, "warmup_rule"), "\"fixed\"");
    assert_values(series(&s, "work_ns", 0, PK_PHASE_WARMUP), 7, 1, 100000 + COPY_NS);
    assert_values(series(&s, "work_ns", 0, PK_PHASE_STEADY), 15, 8, 100000 + COPY_NS);
    stop.warmup = 0;
    s = measure("slow-start", 100000, &stop);
    assert_null(series(&s, "work_ns", 0, PK_PHASE_WARMUP));
}

static void outliers_are_flagged_and_kept(void **state)
{
    struct pk_stop stop = defaults;
    stop.min_time_ns = 0;
    stop.min_samples = stop.max_samples = 60;
    struct pk_slice s = measure("outliers", 100000, &stop);
    /* iterations 16, 33, 50; ordinal = iteration - 1, because one iteration chose the repetitions */
    assert_string_equal(note(&s, "outliers"), "3");
    assert_string_equal(note(&s, "outlier_ordinals"), "[15,32,49]");
    const struct pk_series *r = series(&s, "work_ns", 0, PK_PHASE_STEADY);
    assert_int_equal(r->n, 60);
    assert_int_equal(r->integer[14], 1000000 + COPY_NS);
}

static void drift_is_flagged(void **state)
{
    struct pk_stop stop = defaults;
    stop.min_samples = stop.max_samples = 100;
    struct pk_slice s = measure("drift", 1000000, &stop);
    assert_string_equal(note(&s, "class"), "\"slowdown\"");
    assert_true(strtod(note(&s, "drift"), NULL) > 0.02);
    assert_true(strtod(note(&s, "drift_p"), NULL) < 0.001);
    s = measure("throttle", 1000000, &stop);
    assert_string_equal(note(&s, "class"), "\"slowdown\"");
}

static void instances_are_told_apart(void **state)
{
    struct pk_stop stop = defaults;
    stop.min_time_ns = 0;
    struct pk_slice s = measure("instances", 300000, &stop);
    for (int i = 0; i < 3; i++)
        assert_values(series(&s, "part_ns", i, PK_PHASE_STEADY), 15, 1, 100000);
    assert_values(series(&s, "work_ns", 0, PK_PHASE_STEADY), 15, 1, 300000 + COPY_NS);
    assert_null(series(&s, "part_ns", 3, PK_PHASE_STEADY));
}

/* Parts are within: the time that was measured is the outer region's alone. */
static void parts_are_no_time_of_their_own(void **state)
{
    struct pk_stop stop = defaults;
    stop.min_samples = 2;
    stop.min_time_ns = 11 * (300000 + COPY_NS); /* it looks after 2, 3, 4, 6, 8 and 11 samples */
    struct pk_slice s = measure("instances", 300000, &stop);
    const struct pk_series *steady = series(&s, "work_ns", 0, PK_PHASE_STEADY);
    assert_int_equal(steady->n, 11);
}

/* The first, and as many as were asked for: nothing is repeated or checked. */
static void a_profile_is_as_many_iterations(void **state)
{
    struct pk_stop stop = defaults;
    stop.profile = 2;
    struct pk_slice s = measure("ok", 10, &stop);
    assert_int_equal(s.status, PK_ST_OK);
    assert_string_equal(note(&s, "stop"), "\"profile\"");
    assert_string_equal(note(&s, "check"), "\"not with --profile\"");
    assert_values(series(&s, "work_ns", 0, PK_PHASE_FIRST), 1, 0, 10 + COPY_NS);
    assert_values(series(&s, "work_ns", 0, PK_PHASE_STEADY), 2, 1, 10 + COPY_NS);
    assert_int_equal(s.elapsed_ns, 3 * (10 + COPY_NS));
}

static void assert_ends(const char *variant, enum pk_status status, const char *text)
{
    struct pk_slice s = measure(variant, 100000, &defaults);
    assert_int_equal(s.status, status);
    if (!strstr(s.message, text))
        fail_msg("'%s' not in '%s'", text, s.message);
    assert_int_equal(s.n_series, 0);
    assert_int_equal(s.n_metrics, 0);
}

static void bad_ends_are_rows(void **state)
{
    assert_ends("oom", PK_ST_OOM, "no room for");
    assert_ends("leak", PK_ST_FAILED, "left 4096 bytes");
    assert_ends("unmarked", PK_ST_FAILED, "'work' was never marked");
    assert_ends("unended", PK_ST_FAILED, "does not end");
    assert_ends("device-error", PK_ST_FAILED, "iteration 10");
}

static void set_up_can_run_out_of_memory(void **state)
{
    const struct pk_case c = case_of(pk_probe_find("selftest"), "ok", 1, 1ll << 40);
    const struct pk_measure m = {.c = &c, .dev = &dev, .stop = defaults};
    struct pk_slice s;
    pk_measure_case(&m, &arena, &s);
    assert_int_equal(s.status, PK_ST_OOM);
    assert_non_null(strstr(s.message, "in use"));
    assert_int_equal(dev.pool.reserved, 0);
}

static unsigned polls;

static bool every_third_poll(void *user)
{
    return ++polls % 3 == 0;
}

static bool always(void *user)
{
    return true;
}

static struct pk_slice measure_disturbed(pk_disturbed_fn *fn)
{
    const struct pk_case c = case_of(pk_probe_find("selftest"), "ok", 1000000 - COPY_NS, 4096);
    const struct pk_measure m = {.c = &c, .dev = &dev, .stop = defaults, .disturbed = fn};
    struct pk_slice s;
    pk_measure_case(&m, &arena, &s);
    return s;
}

static void disturbed_samples_are_set_aside(void **state)
{
    polls = 0;
    struct pk_slice s = measure_disturbed(every_third_poll);
    /* 1 ms a sample, polled every 10 ms: the first poll forgets, the second covers 1..10, the third 11..20 */
    const struct pk_series *d = series(&s, "work_ns", 0, PK_PHASE_DISTURBED);
    assert_true(d->n >= 10);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(d->ordinal[i], 11 + i);
    assert_int_equal(d->ordinal[10], 41);
    assert_int_equal(strtol(note(&s, "disturbed"), NULL, 10), d->n);
    /* the steady ones alone make up the 0.2 s */
    assert_true(series(&s, "work_ns", 0, PK_PHASE_STEADY)->n >= 200);
}

static void all_disturbed_is_kept_and_said(void **state)
{
    struct pk_slice s = measure_disturbed(always);
    assert_null(series(&s, "work_ns", 0, PK_PHASE_DISTURBED));
    assert_string_equal(note(&s, "disturbed"), "0");
    assert_string_equal(note(&s, "disturbed_kept"), "true");
}

static void jitter_reaches_the_samples(void **state)
{
    struct pk_device noisy;
    const struct pk_device_options opt = {.seed = 5};
    assert_int_equal(pk_device_open(&noisy, "null", &opt, &err), PK_OK);
    const struct pk_case c = case_of(pk_probe_find("selftest"), "ok", 1000000, 4096);
    const struct pk_measure m = {.c = &c, .dev = &noisy, .stop = defaults};
    struct pk_slice s;
    pk_measure_case(&m, &arena, &s);
    const struct pk_series *r = series(&s, "work_ns", 0, PK_PHASE_STEADY);
    assert_true(r->integer[0] != r->integer[1]);
    pk_device_close(&noisy);
}

/* Every device allocation of a whole measurement refused in turn. */
static void every_device_allocation_can_fail(void **state)
{
    struct pk_stop stop = defaults;
    stop.max_samples = 20;
    unsigned long n = 0;
    for (enum pk_status status = PK_ST_OOM; status != PK_ST_OK;) {
        dev.pool.fail_at = ++n;
        struct pk_slice s = measure("ok", 100000, &stop);
        status = s.status;
        assert_true(status == PK_ST_OOM || dev.pool.fail_at > 0);
        assert_int_equal(dev.pool.reserved, 0);
    }
    assert_int_equal(n, 3); /* the two of setup, then success */
    dev.pool.fail_at = 0;
}

enum { REFUSED_EXIT = 42 };

static void on_refused(size_t bytes)
{
    _exit(REFUSED_EXIT);
}

/* Every host allocation refused in turn: the handler runs, nothing else happens. In a child, because the
 * handler may not return. */
static void every_host_allocation_can_fail(void **state)
{
    struct pk_stop stop = defaults;
    stop.max_samples = 20;
    int status = 0;
    unsigned long n = 0;
    do {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            pk_set_oom_handler(on_refused);
            pk_arena_fail_after(n + 1);
            struct pk_slice s = measure("ok", 100000, &stop);
            _exit(s.status == PK_ST_OK ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_true(WEXITSTATUS(status) == REFUSED_EXIT || WEXITSTATUS(status) == 0);
    } while (WEXITSTATUS(status) == REFUSED_EXIT && ++n < 1000);
    assert_in_range(n, 10, 500);
}

#define ON_NULL(f) cmocka_unit_test_setup_teardown(f, open_null, close_null)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NULL(exact_times),
        ON_NULL(work_shorter_than_20_us_is_repeated),
        ON_NULL(repetitions_have_a_limit),
        ON_NULL(stops_for_time),
        ON_NULL(stops_for_samples),
        ON_NULL(stops_for_noise_once_there_is_time),
        ON_NULL(noise_is_estimated),
        ON_NULL(warmup_is_found_and_cut),
        ON_NULL(warmup_can_be_fixed),
        ON_NULL(outliers_are_flagged_and_kept),
        ON_NULL(drift_is_flagged),
        ON_NULL(instances_are_told_apart),
        ON_NULL(parts_are_no_time_of_their_own),
        ON_NULL(a_profile_is_as_many_iterations),
        ON_NULL(bad_ends_are_rows),
        ON_NULL(set_up_can_run_out_of_memory),
        ON_NULL(disturbed_samples_are_set_aside),
        ON_NULL(all_disturbed_is_kept_and_said),
        ON_NULL(jitter_reaches_the_samples),
        ON_NULL(every_device_allocation_can_fail),
        ON_NULL(every_host_allocation_can_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
