/* Sources that work on every machine count what is known beforehand, by iteration and by region. */
#include "counter/perf/known_work.h"
#include "counter/source.h"
#include "device/device.h"
#include "device/null.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

enum { REGION = 3, OTHER = 5 };

static struct pk_arena arena;
static struct pk_err err;
static struct pk_device dev;
static struct pk_reading whole[8], in_region[8], elsewhere[8], innermost[8];

static int open_null(void **state)
{
    const struct pk_device_options o = {0};
    return pk_device_open(&dev, "null", &o, &err);
}

static int close_null(void **state)
{
    pk_device_close(&dev);
    pk_arena_free(&arena);
    return 0;
}

/* The only plan for these events. */
static const struct pk_source_plan *plan_of(const char *source, const char *const *names, size_t n)
{
    const struct pk_source_plan *plans;
    size_t n_plans;
    const struct pk_source *s = pk_source_find(source);
    assert_non_null(s);
    if (s->plan(s, &pk_counter_host, names, n, &arena, &plans, &n_plans, &err)) {
        print_message("%s: %s\n", err.what, err.why);
        return NULL;
    }
    assert_int_equal(n_plans, 1);
    return plans;
}

/* Work before, in the region twice, and after. False where the source cannot count here. */
static bool count(const char *source, const char *const *names, size_t n, void (*work)(void *))
{
    const struct pk_source_plan *p = plan_of(source, names, n);
    void *h;
    bool again = true;
    if (!p)
        return false;
    const struct pk_source *s = p->source;
    assert_int_equal(s->open(&pk_counter_host, p, &dev, &arena, &h, &err), 0);
    bool was = pk_timed_region(true); /* nothing is allocated */
    assert_int_equal(s->start(h, &err), 0);
    work(NULL);
    for (int i = 0; s->mark && i < 2; i++) {
        s->mark(h, REGION, false);
        work(NULL);
        s->mark(h, REGION, true);
    }
    work(NULL);
    pk_timed_region(was);
    assert_int_equal(s->stop(h, &again, &err), 0);
    assert_false(again);
    assert_int_equal(s->read(h, -1, whole, &err), 0);
    assert_int_equal(s->read(h, REGION, in_region, &err), 0);
    assert_int_equal(s->read(h, OTHER, elsewhere, &err), 0);
    pk_source_close(s, h);
    return true;
}

static void faults_are_exact(void **state)
{
    static const char *const names[] = {"page_faults", "task_clock_ns"};
    if (!count("sw-events", names, 2, pk_known_pages))
        skip();
    assert_in_range(in_region[0].integer, 2 * PK_KNOWN_PAGES, 2 * PK_KNOWN_PAGES + 4);
    assert_in_range(whole[0].integer, 4 * PK_KNOWN_PAGES, 4 * PK_KNOWN_PAGES + 16);
    assert_true(whole[1].integer > in_region[1].integer && in_region[1].integer > 0);
    assert_true(elsewhere[0].unavailable && !whole[0].unavailable && !in_region[0].unavailable);
}

static void rusage_counts_the_same(void **state)
{
    static const char *const names[] = {"minor_faults", "major_faults"};
    assert_true(count("rusage", names, 2, pk_known_pages));
    assert_in_range(in_region[0].integer, 2 * PK_KNOWN_PAGES, 2 * PK_KNOWN_PAGES + 4);
    assert_in_range(whole[0].integer, 4 * PK_KNOWN_PAGES, 4 * PK_KNOWN_PAGES + 16);
    assert_int_equal(whole[1].integer, 0);
    assert_true(elsewhere[0].unavailable);
}

/* Regions within each other, and two that cross: 1 piece of work in INNER, 3 in REGION, 3 in OTHER, 5 in the iteration. */
static bool count_nested(const char *source, const char *const *names, size_t n, void (*work)(void *))
{
    enum { INNER = 0 };
    const struct pk_source_plan *p = plan_of(source, names, n);
    bool again = true;
    void *h;
    if (!p)
        return false;
    const struct pk_source *s = p->source;
    assert_int_equal(s->open(&pk_counter_host, p, &dev, &arena, &h, &err), 0);
    for (int iteration = 0; iteration < 2; iteration++) { /* nothing of the first is left in the second */
        bool was = pk_timed_region(true);
        assert_int_equal(s->start(h, &err), 0);
        s->mark(h, REGION, false);
        work(NULL);
        s->mark(h, INNER, false);
        work(NULL);
        s->mark(h, INNER, true);
        s->mark(h, OTHER, false);
        work(NULL);
        s->mark(h, REGION, true);
        work(NULL);
        work(NULL);
        s->mark(h, OTHER, true);
        pk_timed_region(was);
        assert_int_equal(s->stop(h, &again, &err), 0);
    }
    assert_int_equal(s->read(h, -1, whole, &err), 0);
    assert_int_equal(s->read(h, REGION, in_region, &err), 0);
    assert_int_equal(s->read(h, OTHER, elsewhere, &err), 0);
    assert_int_equal(s->read(h, INNER, innermost, &err), 0);
    pk_source_close(s, h);
    return true;
}

/* Pages are counted where they are touched, and few others. */
static void assert_nested_pages(void)
{
    static const int64_t few = 16;
    assert_in_range(innermost[0].integer, PK_KNOWN_PAGES, PK_KNOWN_PAGES + few);
    assert_in_range(in_region[0].integer, 3 * PK_KNOWN_PAGES, 3 * PK_KNOWN_PAGES + few);
    assert_in_range(elsewhere[0].integer, 3 * PK_KNOWN_PAGES, 3 * PK_KNOWN_PAGES + few);
    assert_in_range(whole[0].integer, 5 * PK_KNOWN_PAGES, 5 * PK_KNOWN_PAGES + few);
}

static void declared(void *unused)
{
    pk_null_work(&dev, 2048, 512, 0);
}

static void the_null_device_is_counted_exactly(void **state)
{
    static const char *const names[] = {"fake_flops", "fake_works", "fake_ns"};
    assert_true(count("fake", names, 3, declared));
    assert_int_equal(whole[0].integer, 4 * 2048);
    assert_int_equal(in_region[0].integer, 2 * 2048);
    assert_int_equal(in_region[1].integer, 2);
    assert_int_equal(in_region[2].integer, 4);
    assert_true(elsewhere[2].unavailable);
}

static void an_outer_region_has_what_is_counted_inside_it(void **state)
{
    static const char *const declares[] = {"fake_flops", "fake_works", "fake_ns"}, *const faults[] = {
                                                                                       "minor_faults"};
    assert_true(count_nested("fake", declares, 3, declared));
    for (size_t e = 0; e < 3; e++) {
        const int64_t one = innermost[e].integer;
        assert_true(one > 0);
        assert_int_equal(in_region[e].integer, 3 * one);
        assert_int_equal(elsewhere[e].integer, 3 * one);
        assert_int_equal(whole[e].integer, 5 * one);
    }
    assert_true(count_nested("rusage", faults, 1, pk_known_pages));
    assert_nested_pages();
}

static void the_kernels_counters_nest(void **state)
{
    static const char *const names[] = {"page_faults", "task_clock_ns"};
    if (!count_nested("sw-events", names, 2, pk_known_pages))
        skip();
    assert_nested_pages();
    assert_true(whole[1].integer > in_region[1].integer && in_region[1].integer > innermost[1].integer);
}

static void what_a_fake_can_do_to_a_reader(void **state)
{
    static const char *const names[] = {"fake_scaled", "fake_absent", "fake_percent"};
    assert_true(count("fake", names, 3, declared));
    assert_int_equal(whole[0].integer, 4 * 2048);
    assert_int_equal(whole[0].running_ns * 2, whole[0].enabled_ns);
    assert_true(whole[1].unavailable);
    assert_true(whole[2].is_real && whole[2].real == 0.005);
}

static void plans_have_passes(void **state)
{
    static const char *const names[] = {"fake_works", "fake_flops", "fake_bytes", "fake_ns", "fake_replayed"};
    const struct pk_source_plan *plans;
    size_t n;
    bool again;
    void *h;
    const struct pk_source *s = pk_source_find("fake");
    assert_int_equal(s->plan(s, &pk_counter_host, names, 5, &arena, &plans, &n, &err), 0);
    assert_int_equal(n, 3);
    assert_int_equal(plans[0].n, 3);
    assert_int_equal(plans[1].n, 1);
    assert_string_equal(plans[1].events[0].name, "fake_ns");
    assert_int_equal(plans[2].passes, 3);
    assert_int_equal(s->open(&pk_counter_host, &plans[2], &dev, &arena, &h, &err), 0);
    for (int pass = 1; pass <= 6; pass++) {
        assert_int_equal(s->start(h, &err), 0);
        declared(NULL);
        assert_int_equal(s->stop(h, &again, &err), 0);
        assert_int_equal(again, pass % 3 != 0);
    }
    assert_int_equal(s->read(h, -1, whole, &err), 0);
    assert_int_equal(whole[0].integer, 1);
    assert_int_equal(s->open(&pk_counter_host, &plans[2], NULL, &arena, &h, &err), PK_E_UNAVAILABLE);
}

enum { MORE_BYTES = 64 << 20 };

static void takes_memory(void *unused)
{
    char *p = mmap(NULL, MORE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    memset(p, 1, MORE_BYTES);
    munmap(p, MORE_BYTES);
    void *in_pool = pk_device_alloc(&dev, 1 << 20, PK_TAG_OTHER);
    pk_device_free(&dev, in_pool);
}

static void nothing(void *unused)
{
}

/* The peak is of the iteration, not of the process: it falls again. */
static void memory_peaks_are_of_the_iteration(void **state)
{
    static const char *const names[] = {"resident_peak_bytes", "pool_peak_bytes"};
    struct pk_reading small[2];
    assert_true(count("memory", names, 2, nothing));
    memcpy(small, whole, sizeof small);
    assert_int_equal(small[1].integer, 0);
    takes_memory(NULL); /* the pool is warm */
    assert_true(count("memory", names, 2, takes_memory));
    assert_int_equal(whole[1].integer, 1 << 20);
    assert_true(in_region[0].unavailable);
    assert_true(whole[0].integer >= small[0].integer + MORE_BYTES / 2);
    if (pk_source_find("memory")->check(pk_source_find("memory"), &pk_counter_host, &arena).state ==
        PK_SOURCE_OK) {
        assert_true(count("memory", names, 2, nothing));
        assert_true(whole[0].integer < small[0].integer + MORE_BYTES / 2);
    }
}

static void unknown_events_are_usage_errors(void **state)
{
    static const char *const names[] = {"page_fautls"};
    for (const struct pk_source *const *s = pk_sources; *s; s++) {
        const struct pk_source_plan *plans;
        size_t n;
        assert_int_equal((*s)->plan(*s, &pk_counter_host, names, 1, &arena, &plans, &n, &err), PK_E_USAGE);
    }
    assert_null(pk_source_find("sw-event"));
}

/* A test of the table: what a source offers, it describes. */
static void every_event_says_what_it_is(void **state)
{
    for (const struct pk_source *const *s = pk_sources; *s; s++) {
        const struct pk_event *events;
        size_t n = pk_source_events(*s, &pk_counter_host, &arena, &events);
        assert_true((*s)->check && (*s)->plan && *(*s)->summary);
        assert_true(!n || ((*s)->open && (*s)->start && (*s)->stop && (*s)->read)); /* or not built */
        for (size_t i = 0; i < n; i++) {
            assert_string_equal(events[i].source, (*s)->name);
            assert_true(*events[i].name && *events[i].unit && *events[i].summary);
            assert_true(events[i].native && events[i].modes && events[i].note);
            assert_true(events[i].quality == PK_QUALITY_EXACT || *events[i].note);
        }
    }
}

static long faults_told; /* by each call more than by the one before */

static int told_usage(struct rusage *u)
{
    static long faults;
    *u = (struct rusage){.ru_minflt = faults += faults_told};
    return 0;
}

/* A kernel, or a sandbox that plays one, may answer and count nothing. */
static void usage_that_does_not_move_is_dead(void **state)
{
    const struct pk_counter_env env = {.usage = told_usage};
    const struct pk_source *s = pk_source_find("rusage");
    const struct {
        long faults;
        enum pk_source_state state;
        const char *why, *fix;
    } rows[] = {
        {0, PK_SOURCE_UNAVAILABLE, "dead counter: 100 touched pages gave 0 page faults", NULL},
        {99, PK_SOURCE_UNAVAILABLE, "dead counter: 100 touched pages gave 99 page faults", NULL},
        {110, PK_SOURCE_OK, "100 touched pages gave 110 page faults", NULL},
        {111, PK_SOURCE_DEGRADED, "100 touched pages gave 111 page faults",
         "something else in this process causes page faults; try again"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        faults_told = rows[i].faults;
        const struct pk_source_found f = s->selftest(s, &env, &arena);
        assert_int_equal(f.state, rows[i].state);
        assert_string_equal(f.why, rows[i].why);
        assert_string_equal(f.fix ? f.fix : "", rows[i].fix ? rows[i].fix : "");
    }
}

static void self_tests_pass_or_say_why(void **state)
{
    for (const struct pk_source *const *s = pk_sources; *s; s++) {
        if (!(*s)->selftest)
            continue;
        const struct pk_source_found f = (*s)->selftest(*s, &pk_counter_host, &arena);
        print_message("%s: %s\n", (*s)->name, f.why);
        assert_true(f.why && *f.why);
        assert_null(strstr(f.why, "dead counter") && !strcmp((*s)->name, "rusage") ? f.why : NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_exact),
        cmocka_unit_test(rusage_counts_the_same),
        cmocka_unit_test(the_null_device_is_counted_exactly),
        cmocka_unit_test(an_outer_region_has_what_is_counted_inside_it),
        cmocka_unit_test(the_kernels_counters_nest),
        cmocka_unit_test(what_a_fake_can_do_to_a_reader),
        cmocka_unit_test(plans_have_passes),
        cmocka_unit_test(memory_peaks_are_of_the_iteration),
        cmocka_unit_test(unknown_events_are_usage_errors),
        cmocka_unit_test(every_event_says_what_it_is),
        cmocka_unit_test(usage_that_does_not_move_is_dead),
        cmocka_unit_test(self_tests_pass_or_say_why),
    };
    return cmocka_run_group_tests(tests, open_null, close_null);
}
