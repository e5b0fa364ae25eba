/* Stopped process: a process that SIGSTOP reached is named, with those that it started; others are not. */
#include "machine/machine.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child whose own child, in another process group and of another name, stops itself. */
static pid_t parent_of_stopped(void)
{
    int up[2];
    char c;
    assert_int_equal(pipe(up), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        int status;
        const pid_t child = fork();
        if (child == 0) {
            setsid();
            prctl(PR_SET_NAME, "odd) T (name");
            raise(SIGSTOP);
            pause();
        }
        waitpid(child, &status, WUNTRACED);
        c = (char)write(up[1], "x", 1);
        pause();
    }
    assert_int_equal(read(up[0], &c, 1), 1);
    close(up[0]);
    close(up[1]);
    return pid;
}

static void who_is_stopped_is_named(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const pid_t pid = parent_of_stopped();
    assert_null(pk_machine_stop_reason(pid));
    const char *text = pk_machine_family_stop_reason(pid, &a);
    assert_non_null(text);
    int child = 0;
    assert_int_equal(sscanf(text, "process %d (odd) T (name) is stopped (SIGSTOP)", &child), 1);
    assert_string_equal(text, pk_printf(&a, "process %d (odd) T (name) is stopped (SIGSTOP)", child));
    assert_string_equal(pk_machine_stop_reason(child), "stopped (SIGSTOP)");
    assert_non_null(strstr(pk_machine_family_stop_reason(getpid(), &a), text));
    kill(child, SIGKILL);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void who_is_not_there_is_not_stopped(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    assert_null(pk_machine_stop_reason(0));
    assert_null(pk_machine_stop_reason(-1));
    assert_null(pk_machine_stop_reason(getpid()));
    assert_null(pk_machine_family_stop_reason(getpid(), &a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_is_stopped_is_named),
                                       cmocka_unit_test(who_is_not_there_is_not_stopped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
