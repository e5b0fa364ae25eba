/* What is counted of a command, on kernels that are made up: what is chosen, opened for it, read, and said when it is not. */
#include "bench/command/counter_passes.h"
#include "counter/fake_kernel.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define GUEST    "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nflags\t\t: fpu hypervisor avx2\n"
#define HYBRID   "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 151\nflags\t: fpu\n"
#define PARANOID "proc/sys/kernel/perf_event_paranoid"

enum { COMMAND = 4321 };

static struct pk_arena arena;
static struct pk_err err;
static struct pk_counters chosen;

static int fresh(void **state)
{
    fake_root_clear();
    fake_file("proc/cpuinfo", GUEST);
    fake_file("sys/bus/event_source/devices/cpu/type", "4\n");
    return 0;
}

static int closed(void **state)
{
    assert_int_equal(fake.open_now, 0);
    return 0;
}

static void choose(const char *names)
{
    assert_int_equal(pk_counters_select(&fake_env, names, true, &arena, &chosen, &err), 0);
}

static const char *why_missing(const char *name)
{
    for (size_t i = 0; i < chosen.n_missing; i++)
        if (!strcmp(chosen.missing[i].name, name))
            return chosen.missing[i].why;
    return "";
}

/* One round of what was chosen. */
static struct pk_slice counted(size_t round)
{
    struct pk_counter_pass c = {.env = &fake_env, .arena = &arena};
    PK_JSON_CLEANUP json_t *request = pk_counter_pass_request(&chosen, round);
    assert_int_equal(pk_counter_pass_prepare(&c, request, &err), 0);
    pk_counter_pass_open(&c, COMMAND);
    pk_counter_pass_end(&c);
    return pk_counter_pass_slice(&c, 7, 12345);
}

static int64_t value_of(const struct pk_slice *s, const char *name)
{
    for (size_t i = 0; i < s->n_series; i++)
        if (!strcmp(s->metrics[s->series[i].metric].name, name))
            return *s->series[i].integer;
    return -1;
}

static json_t *note_of(const struct pk_slice *s)
{
    assert_int_equal(s->n_notes, 1);
    assert_string_equal(s->notes[0].key, "counters");
    return json_loads(s->notes[0].json, 0, NULL);
}

static const char *said_of(json_t *note, const char *event, const char *key)
{
    return pk_json_str(json_object_get(json_object_get(note, "events"), event), key, "");
}

static void groups_count_from_exec_with_what_it_starts(void **state)
{
    choose("cpu-basic");
    PK_JSON_CLEANUP json_t *request = pk_counter_pass_request(&chosen, 0);
    struct pk_counter_pass c = {.env = &fake_env, .arena = &arena};
    assert_int_equal(pk_counter_pass_count(&chosen), 1);
    assert_int_equal(pk_counter_pass_prepare(&c, request, &err), 0);
    fake.enabled_by_call = 0;
    pk_counter_pass_open(&c, COMMAND);
    assert_int_equal(fake.open_now, 5);
    assert_int_equal(fake.enabled_by_call, 0);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(fake.fd[i].pid, COMMAND);
        assert_true(fake.fd[i].inherits && !fake.fd[i].pinned && fake.fd[i].at_exec == (i == 0));
    }
    pk_counter_pass_end(&c);
    struct pk_slice s = pk_counter_pass_slice(&c, 7, 12345);
    assert_true(s.status == PK_ST_OK && s.pass == PK_PASS_COUNTER && s.invocation == 7);
    assert_int_equal(value_of(&s, "cycles"), 100);
    assert_int_equal(value_of(&s, "instructions"), 200);
    assert_string_equal(chosen.metrics[0].name, "ipc");
    PK_JSON_CLEANUP json_t *note = note_of(&s);
    assert_int_equal(pk_json_int(note, "ran_ns", 0), 12345);
}

static enum pk_code open_running(void **handle)
{
    const struct pk_source_plan *p = &chosen.plans[0];
    return p->source->open_other(&fake_env, p, (struct pk_other_process){COMMAND, true}, &arena, handle,
                                 &err);
}

static void a_running_process_is_counted_with_the_threads_that_it_has(void **state)
{
    struct pk_reading v[8];
    void *handle;
    bool again;
    choose("cpu-basic");
    const struct pk_source_plan *p = &chosen.plans[0];
    fake_file("proc/4321/task/4321/comm", "bench\n");
    fake_file("proc/4321/task/4325/comm", "bench\n");
    fake.enabled_by_call = 0;
    assert_int_equal(open_running(&handle), 0);
    assert_int_equal(fake.open_now, 10);
    assert_int_equal(fake.enabled_by_call, 2);
    for (unsigned i = 0; i < 10; i++) {
        assert_true(fake.fd[i].pid == COMMAND || fake.fd[i].pid == 4325);
        assert_true(fake.fd[i].inherits && !fake.fd[i].pinned && !fake.fd[i].at_exec);
    }
    assert_int_equal(p->source->start(handle, &err), 0);
    assert_int_equal(p->source->stop(handle, &again, &err), 0);
    assert_int_equal(p->source->read(handle, -1, v, &err), 0);
    assert_true(!strcmp(p->events[0].name, "cycles") && v[0].integer == 2 * 100); /* of both threads */
    pk_source_close(p->source, handle);
}

static void a_process_that_is_gone_is_not_counted(void **state)
{
    void *handle;
    choose("cpu-basic");
    assert_int_equal(open_running(&handle), PK_E_UNAVAILABLE);
    assert_int_equal(fake.open_now, 0);
}

static void sources_are_counted_at_once_and_what_competes_is_not(void **state)
{
    fake.counters = 2;
    choose("sw,cycles,instructions,branches");
    assert_int_equal(chosen.n_plans, 3);
    assert_int_equal(pk_counter_pass_count(&chosen), 2);
    struct pk_slice first = counted(0), second = counted(1);
    assert_int_equal(first.n_series, 6);
    assert_int_equal(second.n_series, 1);
    assert_string_equal(second.metrics[0].name, "branches");
}

static void both_kinds_of_cores_are_counted_apart(void **state)
{
    fake_file("sys/bus/event_source/devices/cpu_core/type", "4\n");
    fake_file("sys/bus/event_source/devices/cpu_core/cpus", "0-15\n");
    fake_file("sys/bus/event_source/devices/cpu_atom/type", "10\n");
    fake_file("sys/bus/event_source/devices/cpu_atom/cpus", "16-23\n");
    fake_file("proc/cpuinfo", HYBRID);
    fake.enabled = 1000;
    fake.running = 250; /* a quarter of the time there: nothing to scale */
    choose("cpu-basic");
    assert_int_equal(chosen.n_plans, 2);
    assert_int_equal(pk_counter_pass_count(&chosen), 1);
    assert_string_equal(chosen.plans[0].events[0].note, "of what ran on CPUs 0-15 (cpu_core)");
    assert_string_equal(chosen.plans[1].events[0].name, "cycles@cpu_atom");
    assert_string_equal(chosen.plans[1].events[0].note, "of what ran on CPUs 16-23 (cpu_atom)");
    struct pk_slice s = counted(0);
    assert_int_equal(value_of(&s, "instructions"), 200);
    assert_int_equal(value_of(&s, "instructions@cpu_atom"), 200);
    PK_JSON_CLEANUP json_t *note = note_of(&s);
    assert_null(json_object_get(json_object_get(json_object_get(note, "events"), "cycles"), "scaled_from"));
    fake.running = 0; /* it never ran there */
    s = counted(0);
    assert_true(s.n_series > 0);
}

static void what_is_not_of_commands_says_why(void **state)
{
    choose("rusage,memory,page_faults,fake_works,gpu-lite");
    assert_int_equal(chosen.n_plans, 1);
    assert_non_null(strstr(why_missing("user_ns"), "exec measures user_ns"));
    assert_non_null(strstr(why_missing("resident_peak_bytes"), "exec measures peak_bytes"));
    assert_non_null(strstr(why_missing("fake_works"), "null device"));
    assert_true(*why_missing("gpu-lite"));
}

static void unasked_the_usual_is_counted_with_what_follows(void **state)
{
    bool has[2] = {false, false};
    choose(NULL);
    assert_int_equal(chosen.n_missing, 0);
    for (size_t i = 0; i < chosen.n_metrics; i++) {
        has[0] |= !strcmp(chosen.metrics[i].name, "ipc");
        has[1] |= !strcmp(chosen.metrics[i].name, "cpus_used");
        assert_true(strcmp(chosen.metrics[i].name, "share_of_peak") != 0); /* nobody declares its work */
    }
    assert_true(has[0] && has[1]);
    fake.cores = ENOENT;
    remove(pk_printf(&arena, "%s/sys/bus/event_source/devices/cpu/type", fake_root));
    remove(pk_printf(&arena, "%s/sys/bus/event_source/devices/cpu", fake_root));
    choose(NULL);
    assert_int_equal(chosen.n_missing, 5);
    assert_string_equal(why_missing("llc_misses"), "no counters: the hypervisor hides them");
}

static void rights_are_said(void **state)
{
    fake.kernel = EACCES;
    fake_file(PARANOID, "2\n");
    choose("sw,cycles");
    assert_string_equal(why_missing("context_switches"),
                        "kernel.perf_event_paranoid=2 forbids it, 1 would allow it");
    assert_string_equal(chosen.plans[0].events[1].modes, "user"); /* page_faults */
    assert_string_equal(chosen.plans[0].events[0].modes, "user+kernel");
    fake.user = EACCES;
    fake_file(PARANOID, "4\n");
    choose(NULL);
    assert_int_equal(chosen.n_plans, 0);
    assert_string_equal(why_missing("cycles"), "kernel.perf_event_paranoid=4 forbids it, 2 would allow it");
}

static void shared_counters_are_scaled_and_never_counted_is_unavailable(void **state)
{
    choose("cycles");
    fake.per_read = 1ull << 61;
    fake.enabled = 3000;
    fake.running = 2000;
    struct pk_slice s = counted(0);
    assert_int_equal(value_of(&s, "cycles"), 3ll << 60); /* the product does not fit 64 bits */
    PK_JSON_CLEANUP json_t *note = note_of(&s);
    const json_t *cycles = json_object_get(json_object_get(note, "events"), "cycles");
    assert_true(pk_json_num(cycles, "scaled_from", 1) > 0.66 && pk_json_num(cycles, "scaled_from", 1) < 0.67);
    choose("page_faults"); /* that needs no turn to be planned */
    fake.running = 0;
    s = counted(0);
    assert_int_equal(s.status, PK_ST_SKIPPED);
    assert_string_equal(s.message, "it was never scheduled on a counter");
    fake.running = 3000;
    fake.per_read = 0; /* that is a 0 */
    s = counted(0);
    assert_int_equal(value_of(&s, "page_faults"), 0);
}

static void what_fails_later_is_unavailable_with_its_reason(void **state)
{
    choose("sw");
    fake.read_error = ENODEV;
    struct pk_slice s = counted(0);
    assert_int_equal(s.status, PK_ST_SKIPPED);
    PK_JSON_CLEANUP json_t *note = note_of(&s);
    assert_true(*said_of(note, "page_faults", "why"));
    fresh(state);
    choose("sw");
    fake.inherited_groups = EINVAL; /* before Linux 4.13 */
    s = counted(0);
    assert_string_equal(s.message,
                        "this kernel cannot count groups of events in processes that are started later");
}

static void requests_of_another_shape_are_refused(void **state)
{
    static const struct {
        const char *request, *what;
    } rows[] = {
        {"[{\"source\": \"rusage\", \"events\": [\"user_ns\"]}]",
         "this perfkit cannot count a command by 'rusage'"},
        {"[{\"source\": \"sw-events\"}]", "this perfkit cannot count a command by 'sw-events'"},
        {"[{\"source\": \"sw-events\", \"events\": [1]}]", "an event to count has no name"},
        {"[{\"source\": \"cpu-events\", \"events\": [\"cycles\", \"instructions\", \"branches\"]}]",
         "3 events of cpu-events cannot be counted at once"},
    };
    fake.counters = 2;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pk_counter_pass c = {.env = &fake_env, .arena = &arena};
        PK_JSON_CLEANUP json_t *request = json_loads(rows[i].request, 0, NULL);
        assert_int_equal(pk_counter_pass_prepare(&c, request, &err), PK_E_USAGE);
        assert_string_equal(err.what, rows[i].what);
    }
}

static int make(void **state)
{
    fake_root_make();
    return 0;
}

static int end(void **state)
{
    fake_root_remove();
    pk_arena_free(&arena);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, closed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(groups_count_from_exec_with_what_it_starts),
        TEST(a_running_process_is_counted_with_the_threads_that_it_has),
        TEST(a_process_that_is_gone_is_not_counted),
        TEST(sources_are_counted_at_once_and_what_competes_is_not),
        TEST(both_kinds_of_cores_are_counted_apart),
        TEST(what_is_not_of_commands_says_why),
        TEST(unasked_the_usual_is_counted_with_what_follows),
        TEST(rights_are_said),
        TEST(shared_counters_are_scaled_and_never_counted_is_unavailable),
        TEST(what_fails_later_is_unavailable_with_its_reason),
        TEST(requests_of_another_shape_are_refused),
    };
    return cmocka_run_group_tests(tests, make, end);
}
