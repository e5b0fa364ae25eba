/* Worker clients: a worker that answers is believed, one that lies, is late or goes away is ended, and the next request starts another.
 *
 * The workers are shell scripts: hello, then a reply for each request that is read. */
#include "bench/client/worker_client.h"

#include "base/clock.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

#define HELLO      "echo '{\"type\":\"hello\",\"version\":1,\"program\":\"test\",\"pid\":1}' >&3; "
#define STATUS(id) "echo '{\"type\":\"status\",\"id\":" #id ",\"status\":\"ok\"}' >&3; "
#define SAMPLE                                                                                               \
    "echo '{\"type\":\"metric\",\"name\":\"x_ns\",\"unit\":\"ns\"}' >&3; "                                   \
    "echo '{\"type\":\"samples\",\"metric\":\"x_ns\",\"values\":[42]}' >&3; "

static struct pk_worker_client client;
static struct pk_provider provider;
static const char *argv[] = {"sh", "-c", NULL, NULL};
static json_t *axes;

static void open_client(const char *script, const char *once)
{
    argv[2] = script;
    provider = (struct pk_provider){.name = "test", .argv = argv, .once = once};
    pk_worker_client_init(&client, &provider);
    axes = json_object();
}

static int close_client(void **state)
{
    pk_worker_client_free(&client);
    json_decref(axes);
    return 0;
}

static enum pk_reply ask(int64_t id, uint64_t wait_ns, const volatile int *stop, struct pk_slice **slice)
{
    const struct pk_request r = {.id = id, .experiment = "e", .variant = "v", .device = "null", .axes = axes};
    return pk_worker_client_request(&client, &r, pk_clock_ns() + wait_ns, stop, slice);
}

static struct pk_slice *reply(int64_t id)
{
    struct pk_slice *slice = NULL;
    assert_int_equal(ask(id, 60 * PK_NS_PER_S, NULL, &slice), PK_REPLY_SLICE);
    return slice;
}

static void a_reply_is_a_slice_with_its_facts(void **state)
{
    open_client(HELLO "while read -r request; do "
                      "echo '{\"type\":\"setting\",\"key\":\"threads\",\"value\":\"2\"}' >&3; " SAMPLE STATUS(
                          7) "done",
                NULL);
    for (int turn = 0; turn < 2; turn++) {
        const struct pk_slice *s = reply(7);
        assert_int_equal(s->status, PK_ST_OK);
        assert_int_equal(s->n_series, 1);
        assert_int_equal(s->series[0].integer[0], 42);
        assert_int_equal(client.n_facts, 1);
        assert_string_equal(client.facts[0].key, "threads");
    }
    const pid_t worker = client.process.program.pid;
    assert_true(worker > 0);
    pk_worker_client_quit(&client);
    assert_int_equal(client.process.program.pid, 0);
}

static void a_lie_ends_the_worker(void **state)
{
    static const struct {
        const char *script, *message;
    } rows[] = {
        {"echo rubbish >&3; read -r r; sleep 60", "violated the protocol"},
        {SAMPLE "sleep 60", "it sent a message before its hello"},
        {"echo '{\"type\":\"hello\",\"version\":9}' >&3; sleep 60", "version 9 of the wire protocol"},
        {HELLO "read -r r; " SAMPLE STATUS(8) "sleep 60", "it answered request 8 instead of 7"},
        {HELLO "read -r r; " STATUS(7) "sleep 60", "it reported ok without a sample"},
        {HELLO "echo '{\"type\":\"case\",\"variant\":\"x\"}' >&3; sleep 60",
         "a case other than the requested one"},
        {HELLO "echo '{\"type\":\"metric\",\"name\":\"own_ns\",\"unit\":\"s\"}' >&3; sleep 60",
         "which has the unit \"ns\""},
        {HELLO "read -r r; echo told >&2; exit 3", "died: exit status 3; last output: told"},
    };
    static const struct pk_metric_decl own = {"own_ns", "ns", "lower", "time", "median", "max", "region"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        open_client(rows[i].script, NULL);
        pk_worker_client_set_metrics(&client, &own, 1);
        const struct pk_slice *s = reply(7);
        assert_int_equal(s->status, PK_ST_FAILED);
        if (!strstr(s->message, rows[i].message))
            fail_msg("row %zu: %s", i, s->message);
        assert_int_equal(client.process.program.pid, 0);
        close_client(state);
    }
    open_client("true", NULL);
}

static void who_is_late_or_stopped_is_ended(void **state)
{
    struct pk_slice *slice;
    const volatile int stop = 1;
    open_client(HELLO "sleep 60", NULL);
    assert_int_equal(ask(1, 20 * PK_NS_PER_MS, NULL, &slice), PK_REPLY_LATE);
    assert_int_equal(client.process.program.pid, 0);
    assert_int_equal(ask(2, 60 * PK_NS_PER_S, &stop, &slice), PK_REPLY_STOPPED);
    assert_int_equal(client.process.program.pid, 0);
}

static void a_stopped_worker_is_named(void **state)
{
    struct pk_slice *slice;
    open_client(HELLO "kill -STOP $$", NULL);
    assert_int_equal(ask(1, 300 * PK_NS_PER_MS, NULL, &slice), PK_REPLY_LATE);
    assert_non_null(client.missing);
    assert_non_null(strstr(client.missing, "(sh) is stopped (SIGSTOP)"));
    assert_false(client.silent);
}

/* Of ranks that are looked at, long before the deadline. */
static void a_stopped_rank_is_not_waited_for(void **state)
{
    struct pk_slice *slice;
    struct pk_rank_heartbeats heartbeats;
    open_client(HELLO "kill -STOP $$", NULL);
    pk_rank_heartbeats_make(&heartbeats, 2, 0, PK_HEARTBEAT_TIMEOUT_NS);
    client.heartbeats = heartbeats;
    client.timeout_ns = 300 * PK_NS_PER_MS;
    assert_int_equal(ask(1, 60 * PK_NS_PER_S, NULL, &slice), PK_REPLY_LATE);
    assert_true(client.silent);
    assert_non_null(strstr(client.missing, "(sh) is stopped (SIGSTOP)"));
    close_client(state);
    /* Neither stopped nor in a call: a rank that computes has the time until the deadline. */
    open_client(HELLO "read -r r; sleep 1; " SAMPLE STATUS(7), NULL);
    pk_rank_heartbeats_make(&heartbeats, 2, 0, PK_HEARTBEAT_TIMEOUT_NS);
    client.heartbeats = heartbeats;
    client.timeout_ns = 300 * PK_NS_PER_MS;
    assert_string_equal(reply(7)->message, "");
}

/* Settings are kept until the reply, so they have a number. */
static void settings_have_an_end(void **state)
{
    open_client(HELLO "while :; do echo '{\"type\":\"setting\",\"key\":\"k\",\"value\":1}'; done >&3", NULL);
    const struct pk_slice *s = reply(7);
    assert_int_equal(s->status, PK_ST_FAILED);
    assert_non_null(strstr(s->message, "more than 4096 settings in one reply"));
    assert_int_equal(client.n_facts, 4096);
}

/* One that said bye, or went after its reply, is replaced unless it cannot be started again. */
static void the_next_request_starts_another(void **state)
{
    open_client(HELLO "read -r r; " SAMPLE "echo '{\"type\":\"bye\"}' >&3; " STATUS(7), NULL);
    assert_int_equal(reply(7)->status, PK_ST_OK);
    assert_int_equal(client.process.program.pid, 0);
    assert_int_equal(reply(7)->status, PK_ST_OK);
    close_client(state);
    open_client(HELLO "read -r r; " SAMPLE "echo '{\"type\":\"bye\"}' >&3; " STATUS(7), "it is ranks");
    assert_int_equal(reply(7)->status, PK_ST_OK);
    const struct pk_slice *s = reply(7);
    assert_int_equal(s->status, PK_ST_FAILED);
    assert_string_equal(
        s->message,
        "the worker (test) ended in an earlier case: it is ranks; try: run the remaining cases again");
}

/* What a worker chose stands in the requests after it. */
static void choices_are_handed_on(void **state)
{
    open_client(HELLO
                "while read -r request; do case $request in *onednn*) x=2;; *) x=1;; esac; "
                "echo '{\"type\":\"setting\",\"key\":\"choice:bf16\",\"value\":\"onednn\"}' >&3; "
                "echo '{\"type\":\"metric\",\"name\":\"x\",\"unit\":\"1\"}' >&3; "
                "echo '{\"type\":\"samples\",\"metric\":\"x\",\"values\":['$x']}' >&3; " STATUS(7) "done",
                NULL);
    assert_int_equal(reply(7)->series[0].integer[0], 1);
    assert_int_equal(reply(7)->series[0].integer[0], 2);
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, close_client)
    const struct CMUnitTest tests[] = {T(a_reply_is_a_slice_with_its_facts), T(a_lie_ends_the_worker),
                                       T(who_is_late_or_stopped_is_ended),   T(a_stopped_worker_is_named),
                                       T(a_stopped_rank_is_not_waited_for),  T(settings_have_an_end),
                                       T(the_next_request_starts_another),   T(choices_are_handed_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
