/* Spawner: a request is answered by what the command took, or by why it could not be measured. */
#include "bench/command/command.h"

#include "wire/wire.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int fd = -1;
static pid_t spawner;
static struct pk_wire_reader *reader;
static struct pk_collector *collector;

static int start(void **state)
{
    int ends[2];
    struct pk_err err;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    spawner = fork();
    if (!spawner) {
        close(ends[0]);
        _exit(pk_spawner_serve(ends[1], &(const volatile int){0}, &err) ? 1 : 0);
    }
    close(ends[1]);
    fd = ends[0];
    reader = pk_wire_reader_new();
    collector = pk_collector_new();
    return 0;
}

/* At the end of its input it ends, well. */
static int finish(void **state)
{
    int status;
    pk_wire_reader_free(reader);
    pk_collector_free(collector);
    close(fd);
    assert_int_equal(waitpid(spawner, &status, 0), spawner);
    assert_int_equal(status, 0);
    return 0;
}

/* The reply to a measure request with these members. */
static const struct pk_slice *ask(const char *members)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_wire_msg msg;
    struct pk_err err;
    const char *problem,
        *line = pk_printf(&a,
                          "{\"type\":\"measure\",\"id\":3,\"experiment\":\"exec\",\"variant\":\"command\","
                          "\"device\":\"cpu\",\"axes\":{}%s}\n",
                          members);
    pk_collector_reset(collector);
    assert_int_equal(write(fd, line, strlen(line)), strlen(line));
    do {
        assert_int_equal(pk_wire_read(reader, fd, &msg, &err), PK_OK);
    } while (!pk_collect(collector, &msg, &problem));
    return pk_collected(collector);
}

static int64_t figure(const struct pk_slice *s, const char *metric)
{
    for (size_t i = 0; i < s->n_series; i++)
        if (strcmp(s->metrics[s->series[i].metric].name, metric) == 0)
            return s->series[i].integer[0];
    fail_msg("no %s", metric);
    return 0;
}

static void a_command_is_measured_from_outside(void **state)
{
    const struct pk_slice *s = ask(",\"command\":[\"sh\",\"-c\",\"sleep 0.02\"],\"invocation\":4");
    assert_int_equal(s->status, PK_ST_OK);
    assert_int_equal(s->invocation, 4);
    assert_int_equal(s->n_metrics, 6);
    assert_true(figure(s, "wall_ns") >= 20000000);
    assert_true(figure(s, "user_ns") + figure(s, "system_ns") <= figure(s, "wall_ns"));
    assert_true(figure(s, "peak_bytes") > 0 && figure(s, "page_faults") > 0);
    assert_string_equal(s->notes[0].key, "exit_status");
    assert_string_equal(s->notes[0].json, "0");
}

/* The large parent does not show in the peak of a small command: sh takes a few MiB. */
static void each_command_has_its_own_peak(void **state)
{
    const int64_t small = figure(ask(",\"command\":[\"true\"]"), "peak_bytes"),
                  large = figure(
                      ask(",\"command\":[\"sh\",\"-c\",\"x=$(head -c 30000000 /dev/zero | tr '\\\\0' x); "
                          "echo $x | wc -c\"]"),
                      "peak_bytes");
    assert_true(large > small + 20000000);
    assert_true(figure(ask(",\"command\":[\"true\"]"), "peak_bytes") < small + 10000000);
}

static void what_fails_is_said(void **state)
{
    static const struct {
        const char *members, *message;
    } rows[] = {
        {"", "the request has no command"},
        {",\"command\":[1]", "the request has no command"},
        {",\"command\":[\"no-such-program\"]", "cannot start 'no-such-program': No such file or directory"},
        {",\"command\":[\"sh\",\"-c\",\"exit 3\"]", "the command failed: exit status 3"},
        {",\"command\":[\"sh\",\"-c\",\"kill -SEGV $$\"]",
         "the command failed: ended by signal 11 (Segmentation fault)"},
        {",\"command\":[\"true\"],\"prepare\":\"exit 4\"", "the command of --prepare failed: exit status 4"},
        {",\"command\":[\"true\"],\"pass\":\"counter\",\"counters\":[{\"source\":\"nobody\",\"events\":["
         "\"a\"]}]",
         "this perfkit cannot count a command by 'nobody'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct pk_slice *s = ask(rows[i].members);
        assert_int_equal(s->status, PK_ST_FAILED);
        assert_string_equal(s->message, rows[i].message);
    }
}

static void a_failure_may_be_a_note(void **state)
{
    const struct pk_slice *s = ask(",\"command\":[\"sh\",\"-c\",\"kill -KILL $$\"],\"ignore_failure\":true");
    assert_int_equal(s->status, PK_ST_OK);
    assert_string_equal(s->notes[0].json, "137");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, start, finish)
    const struct CMUnitTest tests[] = {T(a_command_is_measured_from_outside),
                                       T(each_command_has_its_own_peak), T(what_fails_is_said),
                                       T(a_failure_may_be_a_note)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
