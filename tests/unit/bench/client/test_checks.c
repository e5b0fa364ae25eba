/* Sources are tried by a worker, and one that crashes, hangs or lies costs a sentence. */
#include "bench/client/checks.h"

#include "base/clock.h"
#include "bench/worker/replies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct pk_arena arena;
static struct pk_err err;

/* Asks a shell script for a source; it has a second. */
static struct pk_source_found ask(const char *script)
{
    const struct pk_provider shell = {"made-up", (const char *const[]){"/bin/sh", "-c", script, NULL}};
    struct pk_source_found f;
    assert_int_equal(
        pk_source_selftest(&shell, "rusage", pk_clock_ns() + PK_NS_PER_S, NULL, &arena, &f, &err), PK_OK);
    return f;
}

#define SAY(line) "echo '" line "' >&$PERFKIT_WIRE_FD;"
#define HELLO     "read line;" SAY("{\"type\":\"hello\",\"version\":1}")
#define STATE(value)                                                                                         \
    SAY("{\"type\":\"metric\",\"name\":\"state\",\"unit\":\"1\"}")                                           \
    SAY("{\"type\":\"samples\",\"metric\":\"state\",\"values\":[" value "]}")
#define NOTE(key, json) SAY("{\"type\":\"note\",\"key\":\"" key "\",\"value\":" json "}")
#define DONE            SAY("{\"type\":\"status\",\"id\":1,\"status\":\"ok\",\"message\":\"\"}") "read line"

static void a_finding_comes_through(void **state)
{
    const struct pk_source_found f = ask(HELLO STATE("1") NOTE("why", "\"half of it works\"")
                                             NOTE("fix", "\"mend the rest\"") NOTE("error", "35") DONE);
    assert_int_equal(f.state, PK_SOURCE_DEGRADED);
    assert_int_equal(f.error, 35);
    assert_string_equal(f.why, "half of it works");
    assert_string_equal(f.fix, "mend the rest");
}

static void a_state_that_is_none_is_not_believed(void **state)
{
    const struct pk_source_found f = ask(HELLO STATE("7") NOTE("why", "3") NOTE("fix", "null") DONE);
    assert_int_equal(f.state, PK_SOURCE_UNAVAILABLE);
    assert_string_equal(f.why, "");
    assert_null(f.fix);
}

static void a_crash_is_a_finding(void **state)
{
    const struct pk_source_found f = ask(HELLO "kill -SEGV $$");
    assert_int_equal(f.state, PK_SOURCE_UNAVAILABLE);
    assert_non_null(strstr(f.why, "its self-test failed: the worker (made-up) died: ended by signal 11"));
    assert_non_null(strstr(f.fix, "does not use it"));
}

static void a_hang_is_a_finding(void **state)
{
    const struct pk_source_found f = ask(HELLO "sleep 20");
    assert_int_equal(f.state, PK_SOURCE_UNAVAILABLE);
    assert_non_null(strstr(f.why, "its self-test did not end in 1."));
    assert_non_null(f.fix);
}

/* What a source leaves in its process, as CUPTI that was ended, is not there for the next. */
static void every_source_gets_a_worker_of_its_own(void **state)
{
    static const char script[] = HELLO
        "while :; do " STATE("0") " echo '{\"type\":\"note\",\"key\":\"why\",\"value\":\"'$$'\"}' "
                                  ">&$PERFKIT_WIRE_FD;" SAY("{\"type\":\"status\",\"id\":1,\"status\":\"ok\","
                                                            "\"message\":\"\"}") "read line || exit; done";
    struct pk_source_found f[2];
    for (int i = 0; i < 2; i++) {
        f[i] = ask(script);
        assert_int_equal(f[i].state, PK_SOURCE_OK);
    }
    assert_string_not_equal(f[0].why, f[1].why); /* its process id */
}

static void a_stop_is_an_error(void **state)
{
    const struct pk_provider shell = {"made-up", (const char *const[]){"/bin/sleep", "20", NULL}};
    const volatile int stop = 1;
    struct pk_source_found f;
    assert_int_equal(
        pk_source_selftest(&shell, "rusage", pk_clock_ns() + PK_NS_PER_S, &stop, &arena, &f, &err),
        PK_E_INTERRUPTED);
}

static void a_worker_tries_what_it_is_asked(void **state)
{
    struct pk_slice s;
    assert_int_equal(pk_selftest_slice("fake", &arena, &s, &err), PK_OK);
    assert_int_equal(s.series[0].integer[0], PK_SOURCE_OK);
    assert_string_equal(s.notes[1].json, "null");
    assert_int_equal(pk_selftest_slice("abacus", &arena, &s, &err), PK_E_USAGE);
    assert_non_null(strstr(err.what, "abacus"));
}

static int free_arena(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finding_comes_through),
        cmocka_unit_test(a_state_that_is_none_is_not_believed),
        cmocka_unit_test(a_crash_is_a_finding),
        cmocka_unit_test(a_hang_is_a_finding),
        cmocka_unit_test(every_source_gets_a_worker_of_its_own),
        cmocka_unit_test(a_stop_is_an_error),
        cmocka_unit_test(a_worker_tries_what_it_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, free_arena);
}
