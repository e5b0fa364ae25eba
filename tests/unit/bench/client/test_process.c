/* Processes: what a program says arrives by its kind, how it ended is told, and its whole group ends with it. */
#include "bench/client/process.h"

#include "base/clock.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pk_arena arena;
static struct pk_err err;

static int free_arena(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

static struct pk_process start(const char *script)
{
    struct pk_process p;
    const char *const argv[] = {"sh", "-c", script, NULL};
    assert_int_equal(pk_process_start(&p, argv, &err), PK_OK);
    return p;
}

static uint64_t in_seconds(unsigned n)
{
    return pk_clock_ns() + n * PK_NS_PER_S;
}

static void end(struct pk_process *p)
{
    assert_true(pk_process_ended(p, in_seconds(60)));
    pk_process_end(p, 0);
}

static void each_channel_is_heard_as_what_it_is(void **state)
{
    struct pk_process p = start("read word; echo $PERFKIT_WIRE_FD $word >&$PERFKIT_WIRE_FD; echo reply >&0; "
                                "echo out; echo err >&2");
    char wire[64] = "", reply[64] = "", some[32];
    enum pk_process_event event;
    size_t n;
    assert_int_equal(write(p.in_fd, "go\n", 3), 3);
    while ((event = pk_process_wait(&p, in_seconds(60), NULL, some, sizeof some, &n)) != PK_PROCESS_END) {
        assert_true(event == PK_PROCESS_BYTES || event == PK_PROCESS_REPLY);
        strncat(event == PK_PROCESS_BYTES ? wire : reply, some, n);
    }
    assert_string_equal(wire, "3 go\n");
    assert_string_equal(reply, "reply\n");
    pk_process_end(&p, 0);
    assert_string_equal(pk_process_output_tail(&p, &arena), "out | err");
    assert_string_equal(pk_process_exit_text(&p, &arena), "exit status 0; last output: out | err");
    assert_int_equal(p.in_fd, -1);
}

static void waiting_ends_at_its_deadline_and_by_the_flag(void **state)
{
    struct pk_process p = start("exec sleep 60");
    volatile int stop = 1;
    char some[8];
    size_t n;
    assert_int_equal(pk_process_wait(&p, pk_clock_ns(), NULL, some, sizeof some, &n), PK_PROCESS_DEADLINE);
    assert_int_equal(pk_process_wait(&p, in_seconds(60), &stop, some, sizeof some, &n), PK_PROCESS_STOP);
    assert_false(pk_process_ended(&p, pk_clock_ns()));
    pk_process_end(&p, 60 * PK_NS_PER_S);
    assert_string_equal(pk_process_exit_text(&p, &arena), "ended by signal 15 (Terminated)");
    pk_process_end(&p, 0); /* nothing happens */
}

/* What a process writes until the deadline. */
static enum pk_process_event flooded_until(struct pk_process *p, uint64_t deadline_ns, size_t *bytes)
{
    static char some[1 << 16];
    enum pk_process_event event;
    size_t n;
    *bytes = 0;
    while ((event = pk_process_wait(p, deadline_ns, NULL, some, sizeof some, &n)) == PK_PROCESS_BYTES ||
           event == PK_PROCESS_REPLY)
        *bytes += n;
    return event;
}

static void a_flood_does_not_move_the_deadline(void **state)
{
    static const char *const floods[] = {"exec yes >&3",
                                         "exec yes >&0",
                                         "exec yes >&2",
                                         "exec yes",
                                         "while :; do printf x >&3; done",
                                         "exec 2>&- >&- 3>&-; exec sleep 60"};
    for (size_t i = 0; i < sizeof floods / sizeof *floods; i++) {
        struct pk_process p = start(floods[i]);
        const uint64_t deadline = pk_clock_ns() + 100 * PK_NS_PER_MS;
        size_t bytes;
        assert_int_equal(flooded_until(&p, deadline, &bytes), PK_PROCESS_DEADLINE);
        assert_true(pk_clock_ns() < deadline + 5 * PK_NS_PER_S);
        assert_true((bytes > 0) == (i < 2 || i == 4));
        assert_int_equal(flooded_until(&p, 0, &bytes), PK_PROCESS_DEADLINE);
        assert_true(bytes <= 4 << 20); /* what was in the pipes */
        assert_false(pk_process_ended(&p, pk_clock_ns() + 10 * PK_NS_PER_MS));
        pk_process_end(&p, 0);
        assert_true(p.tail_n <= PK_TAIL_BYTES);
    }
}

/* It ended; what it left behind writes without end, or only keeps the pipes open. */
static void the_end_is_reported_though_a_child_writes(void **state)
{
    static const char *const left[] = {"yes >&3 & echo first >&3", "yes >&0 & echo first >&3",
                                       "sleep 60 & echo first >&3"};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        struct pk_process p = start(left[i]);
        size_t bytes;
        assert_int_equal(flooded_until(&p, in_seconds(60), &bytes), PK_PROCESS_END);
        assert_true(bytes >= strlen("first\n"));
        pk_process_end(&p, 0);
    }
}

/* A deadline passes between two waits, and the process writes and ends: its last bytes are read. */
static void what_comes_after_a_look_is_read(void **state)
{
    struct pk_process p = start("read word; echo last >&3");
    size_t bytes;
    assert_int_equal(flooded_until(&p, 0, &bytes), PK_PROCESS_DEADLINE);
    assert_int_equal(write(p.in_fd, "go\n", 3), 3);
    assert_true(pk_process_ended(&p, in_seconds(60)));
    assert_int_equal(flooded_until(&p, in_seconds(60), &bytes), PK_PROCESS_END);
    assert_int_equal(bytes, strlen("last\n"));
    pk_process_end(&p, 0);
}

static void who_does_not_read_is_late(void **state)
{
    struct pk_process p = start("exec sleep 60");
    volatile int stop = 1;
    char *text = calloc(1, 4 << 20);
    memset(text, 'x', (4 << 20) - 1);
    assert_int_equal(pk_process_send(&p, json_string("short"), in_seconds(60), NULL), PK_PROCESS_SENT);
    assert_int_equal(pk_process_send(&p, json_string(text), pk_clock_ns() + 50 * PK_NS_PER_MS, NULL),
                     PK_PROCESS_DEADLINE);
    assert_int_equal(pk_process_send(&p, json_string(text), in_seconds(60), &stop), PK_PROCESS_STOP);
    pk_process_end(&p, 0);
    p = start("exec <&-; sleep 60");
    for (const uint64_t until = in_seconds(60); pk_clock_ns() < until;)
        if (pk_process_send(&p, json_string("short"), until, NULL) == PK_PROCESS_END)
            break;
    assert_int_equal(pk_process_send(&p, json_string("short"), in_seconds(60), NULL), PK_PROCESS_END);
    pk_process_end(&p, 0);
    free(text);
}

/* It ignores the friendly signal, and has a child: both are gone. */
static void the_whole_group_ends(void **state)
{
    struct pk_process p = start("trap '' TERM; sleep 60 & echo $! >&3; wait");
    char text[32] = "";
    size_t n;
    assert_int_equal(pk_process_wait(&p, in_seconds(60), NULL, text, sizeof text - 1, &n), PK_PROCESS_BYTES);
    const pid_t child = (pid_t)strtol(text, NULL, 10), group = p.program.pid;
    assert_int_equal(getpgid(child), group);
    pk_process_end(&p, 10 * PK_NS_PER_MS);
    assert_string_equal(pk_process_exit_text(&p, &arena), "ended by signal 9 (Killed)");
    for (const uint64_t until = in_seconds(60); kill(-group, 0) == 0 && pk_clock_ns() < until;)
        usleep(1000); /* an orphan is reaped by its new parent */
    assert_int_equal(kill(-group, 0), -1);
    assert_int_equal(errno, ESRCH);
}

static void what_cannot_be_started_is_said(void **state)
{
    static const struct {
        const char *program, *why, *fix;
    } rows[] = {{"no-such-program", "No such file or directory", "install it, or give its path"},
                {"/dev/null", "Permission denied", "check that it can be executed"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pk_process p;
        const char *const argv[] = {rows[i].program, NULL};
        assert_int_equal(pk_process_start(&p, argv, &err), PK_E_IO);
        assert_non_null(strstr(err.what, rows[i].program));
        assert_string_equal(err.why, rows[i].why);
        assert_string_equal(err.fix, rows[i].fix);
        assert_int_equal(p.program.pid, 0);
        assert_true(p.in_fd == -1 && p.wire_fd == -1 && p.err_fd == -1 && p.program.end_fd == -1);
    }
}

static void the_last_words_fit_a_message(void **state)
{
    static const struct {
        const char *script, *words;
    } rows[] = {
        {"exit 3", ""},
        {"printf 'a\\nb\\n\\n ----\\nc\\nd'", "b | c | d"},
        {"printf 'x\\ty\\007\\377'", "x?y??"},
        {"printf '\\303\\244\\n'", "\xc3\xa4"},
        {"echo before; echo perfkit: what; echo '  why: because'; echo after",
         "perfkit: what |   why: because"},
        {"echo 1; echo 'mpiexec noticed that rank 1'; echo 2; echo 3; echo 4", "mpiexec noticed that rank 1"},
        {"i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i + 1)); done",
         "line 2997 | line 2998 | line 2999"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pk_process p = start(rows[i].script);
        end(&p);
        assert_string_equal(pk_process_output_tail(&p, &arena), rows[i].words);
        assert_true(p.tail_n <= PK_TAIL_BYTES);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, free_arena)
    const struct CMUnitTest tests[] = {T(each_channel_is_heard_as_what_it_is),
                                       T(waiting_ends_at_its_deadline_and_by_the_flag),
                                       T(a_flood_does_not_move_the_deadline),
                                       T(the_end_is_reported_though_a_child_writes),
                                       T(what_comes_after_a_look_is_read),
                                       T(who_does_not_read_is_late),
                                       T(the_whole_group_ends),
                                       T(what_cannot_be_started_is_said),
                                       T(the_last_words_fit_a_message)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
