/* Case set: what a command says is sorted into the cases that it names; and what is counted of it, into runs of its own. */
#include "bench/command/case_set.h"

#include "bench/command/counter_passes.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <string.h>

static struct pk_arena arena;
static struct pk_case_set set;
static struct pk_wire_reader *reader;

static int open_set(void **state)
{
    static const struct pk_case_info own = {
        .experiment = "exec", .variant = "command", .device = "cpu", .axes = "{}", .identity = "{}"};
    reader = pk_wire_reader_new();
    pk_case_set_init(&set, &own, &arena);
    pk_case_set_clear(&set);
    return 0;
}

static int close_set(void **state)
{
    pk_case_set_free(&set);
    pk_wire_reader_free(reader);
    pk_arena_free(&arena);
    return 0;
}

/* The first complaint about these lines; NULL = none. */
static const char *take(const char *lines)
{
    struct pk_wire_msg msg;
    const char *problem = NULL;
    pk_wire_feed(reader, lines, strlen(lines));
    while (!problem && pk_wire_next(reader, &msg))
        problem = pk_case_set_take(&set, &msg);
    return problem;
}

#define METRIC        "{\"type\":\"metric\",\"name\":\"x_ns\",\"unit\":\"ns\"}\n"
#define SAMPLE(value) "{\"type\":\"samples\",\"metric\":\"x_ns\",\"values\":[" #value "]}\n"
#define CASE(n)       "{\"type\":\"case\",\"variant\":\"v\",\"axes\":{\"n\":" #n "}}\n"
#define OK            "{\"type\":\"status\",\"status\":\"ok\"}\n"

static int64_t value(size_t i)
{
    const struct pk_slice *s = pk_collected(set.v[i].collector);
    assert_int_equal(s->n_series, 1);
    return s->series[0].integer[0];
}

static void samples_go_to_the_case_named_before_them(void **state)
{
    assert_null(take(METRIC SAMPLE(1) CASE(2) METRIC SAMPLE(2) OK CASE(3) METRIC SAMPLE(3) OK));
    assert_int_equal(set.n, 3);
    assert_string_equal(set.v[0].info.variant, "command");
    assert_string_equal(set.v[1].info.variant, "v");
    assert_string_equal(set.v[1].info.axes, "{\"n\":2}");
    assert_string_equal(set.v[2].info.experiment, "exec");
    for (size_t i = 0; i < 3; i++) {
        assert_true(set.v[i].reported);
        assert_int_equal(value(i), i + 1);
    }
    assert_true(!set.v[0].complete && set.v[1].complete && set.v[2].complete);
}

/* A case keeps its place from run to run, and is not heard where the next run does not name it. */
static void cases_stay_from_run_to_run(void **state)
{
    assert_null(take(CASE(2) METRIC SAMPLE(2) OK CASE(3) METRIC SAMPLE(3) OK));
    pk_case_set_clear(&set);
    assert_null(take(CASE(3) METRIC SAMPLE(4) OK));
    assert_int_equal(set.n, 3);
    assert_true(!set.v[1].reported && set.v[2].reported);
    assert_int_equal(value(2), 4);
}

static void what_is_wrong_is_said(void **state)
{
    static const struct {
        const char *lines, *problem;
    } rows[] = {
        {"nonsense\n", "no JSON: nonsense"},
        {"{\"type\":\"hello\",\"version\":9}\n", "it uses version 9 of the wire protocol"},
        {SAMPLE(1), "x_ns"},
        {CASE(2) METRIC SAMPLE(2) OK CASE(2), "the case v {\"n\":2} a second time, after its status"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *problem = take(rows[i].lines);
        if (!problem || !strstr(problem, rows[i].problem))
            fail_msg("row %zu: %s", i, problem ? problem : "nothing");
        pk_case_set_clear(&set);
    }
}

/* How the process ended is known better by who started it: what it says of itself is kept apart. */
static void its_own_status_is_kept_apart(void **state)
{
    assert_null(take("{\"type\":\"status\",\"status\":\"failed\",\"message\":\"wrong result\"}\n"));
    assert_int_equal(set.own_status, PK_ST_FAILED);
    assert_string_equal(set.own_message, "wrong result");
    assert_false(set.v[0].complete);
    pk_case_set_clear(&set);
    assert_int_equal(set.own_status, PK_ST_OK);
}

static void there_are_at_most_4096_cases(void **state)
{
    const char *problem = NULL;
    size_t n = 0;
    while (!problem && n < 5000)
        problem = take(pk_printf(&arena, "{\"type\":\"case\",\"axes\":{\"n\":%zu}}\n", n++));
    assert_string_equal(problem, "more than 4096 cases");
    assert_int_equal(set.n, 4096);
}

/* --- rounds of counters ------------------------------------------------------------------------------------------------ */

static void what_cannot_be_counted_at_once_is_counted_in_turn(void **state)
{
    static const struct pk_source one = {.name = "one"}, other = {.name = "other"};
    static const struct pk_event events[] = {{.name = "a"}, {.name = "b"}};
    const struct pk_source_plan plans[] = {
        {.source = &one, .events = events, .n = 2},
        {.source = &one, .events = events, .n = 1},
        {.source = &other, .events = events + 1, .n = 1, .unit = "core 0"},
        {.source = &other, .events = events + 1, .n = 1, .unit = "core 1"}};
    const struct pk_counters c = {.plans = plans, .n_plans = 4};
    assert_int_equal(pk_counter_pass_count(&c), 2);
    assert_int_equal(pk_counter_pass_of_plan(&c, 0), 0);
    assert_int_equal(pk_counter_pass_of_plan(&c, 1), 1);
    assert_int_equal(pk_counter_pass_of_plan(&c, 3), 0); /* another unit counts it */
    PK_JSON_CLEANUP json_t *first = pk_counter_pass_request(&c, 0), *second = pk_counter_pass_request(&c, 1);
    assert_string_equal(
        pk_json_text(&arena, first, PK_JSON_CANON),
        "[{\"events\":[\"a\",\"b\"],\"source\":\"one\"},{\"events\":[\"b\"],\"source\":\"other\"},"
        "{\"events\":[\"b\"],\"source\":\"other\"}]");
    assert_string_equal(pk_json_text(&arena, second, PK_JSON_CANON),
                        "[{\"events\":[\"a\"],\"source\":\"one\"}]");
}

/* A request from elsewhere is not trusted; events that this machine refuses are absent, with the reason. */
static void a_request_to_count_is_checked(void **state)
{
    static const char *const wrong[] = {"[{\"source\":\"nobody\",\"events\":[\"a\"]}]",
                                        "[{\"source\":\"cpu-events\",\"events\":[]}]",
                                        "[{\"source\":\"cpu-events\",\"events\":[7]}]"};
    struct pk_counter_pass c = {.env = &pk_counter_host, .arena = &arena};
    struct pk_err err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        PK_JSON_CLEANUP json_t *request = json_loads(wrong[i], 0, NULL);
        assert_int_equal(pk_counter_pass_prepare(&c, request, &err), PK_E_USAGE);
    }
    PK_JSON_CLEANUP json_t *request =
        json_loads("[{\"source\":\"cpu-events\",\"events\":[\"no_such_event\"]}]", 0, NULL);
    assert_int_equal(pk_counter_pass_prepare(&c, request, &err), PK_OK);
    pk_counter_pass_open(&c, 0);
    pk_counter_pass_end(&c);
    const struct pk_slice s = pk_counter_pass_slice(&c, 1, 5);
    assert_int_equal(s.status, PK_ST_SKIPPED);
    assert_int_equal(s.n_series, 0);
    assert_true(*s.message);
    assert_non_null(strstr(s.notes[0].json, "\"no_such_event\""));
    assert_non_null(strstr(s.notes[0].json, "\"why\""));
}

/* Cases stay from run to run, so their text has an end; a status of its own may be repeated. */
static void what_stays_has_an_end(void **state)
{
    static char axis[1 << 20], lines[(1 << 20) + 200];
    const char *problem = NULL;
    int cases = 0;
    memset(axis, 'x', sizeof axis - 1);
    for (; !problem && cases < 100; cases++) {
        snprintf(lines, sizeof lines, "{\"type\":\"case\",\"axes\":{\"n\":%d,\"x\":\"%s\"}}\n", cases, axis);
        problem = take(lines);
        pk_case_set_clear(&set);
    }
    assert_string_equal(problem, "more than 32 MiB of axes and messages of its cases");
    assert_int_equal(cases, 32);
    for (int i = 0; i < 1000; i++)
        assert_null(take(OK));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, open_set, close_set)
    const struct CMUnitTest tests[] = {T(samples_go_to_the_case_named_before_them),
                                       T(cases_stay_from_run_to_run),
                                       T(what_is_wrong_is_said),
                                       T(its_own_status_is_kept_apart),
                                       T(what_stays_has_an_end),
                                       T(there_are_at_most_4096_cases),
                                       T(what_cannot_be_counted_at_once_is_counted_in_turn),
                                       T(a_request_to_count_is_checked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
