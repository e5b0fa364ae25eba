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
    struct pk_process p = start("read word; echo $PERFKIT_WIRE_FD $word >&$PERFKIT_WIRE_FD; echo answer >&0; "
                                "echo out; echo err >&2");
    char wire[64] = "", answer[64] = "", some[32];
    enum pk_process_event event;
    size_t n;
    assert_int_equal(write(p.in_fd, "go\n", 3), 3);
    while ((event = pk_process_wait(&p, in_seconds(60), NULL, some, sizeof some, &n)) != PK_PROCESS_END) {
        assert_true(event == PK_PROCESS_BYTES || event == PK_PROCESS_ANSWER);
        strncat(event == PK_PROCESS_BYTES ? wire : answer, some, n);
    }
    assert_string_equal(wire, "3 go\n");
    assert_string_equal(answer, "answer\n");
    pk_process_end(&p, 0);
    assert_string_equal(pk_process_last_words(&p, &arena), "out | err");
    assert_string_equal(pk_process_fate(&p, &arena), "exit status 0; last output: out | err");
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
    assert_string_equal(pk_process_fate(&p, &arena), "ended by signal 15 (Terminated)");
    pk_process_end(&p, 0); /* nothing happens */
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
    assert_string_equal(pk_process_fate(&p, &arena), "ended by signal 9 (Killed)");
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
        assert_string_equal(pk_process_last_words(&p, &arena), rows[i].words);
        assert_true(p.tail_n <= PK_TAIL_BYTES);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, free_arena)
    const struct CMUnitTest tests[] = {
        T(each_channel_is_heard_as_what_it_is), T(waiting_ends_at_its_deadline_and_by_the_flag),
        T(the_whole_group_ends), T(what_cannot_be_started_is_said), T(the_last_words_fit_a_message)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
