/* Programs: nothing that one started is left, whatever ends it, the keeper or us. */
#include "base/program/program.h"

#include "base/file.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { FAMILY = 4 };
/* The program, a child, one in a session of its own, and a daemon: their numbers come on descriptor 3. */
#define START_FAMILY                                                                                         \
    "echo $$ >&3; sleep 1000 & echo $! >&3; setsid sleep 1000 & echo $! >&3; "                               \
    "(setsid sh -c 'sleep 1000 & echo $! >&3' &); "

static uint64_t in_seconds(unsigned n)
{
    return pk_clock_ns() + n * PK_NS_PER_S;
}

/* in, out: its descriptors 0 and 3 */
static struct pk_program start(const char *script, int in, int out)
{
    struct pk_program p;
    const char *const argv[] = {"sh", "-c", script, NULL};
    assert_int_equal(pk_program_start(&p, &(struct pk_program_setup){.argv = argv, .fd = {in, -1, -1, out}}),
                     0);
    return p;
}

static void read_family(int fd, pid_t *family)
{
    char text[256] = "";
    size_t n = 0;
    int lines = 0;
    for (ssize_t got; lines < FAMILY && (got = read(fd, text + n, 1)) == 1; n++)
        lines += text[n] == '\n';
    assert_int_equal(lines, FAMILY);
    char *at = text;
    for (int i = 0; i < FAMILY; i++) {
        family[i] = (pid_t)strtol(at, &at, 10);
        assert_int_equal(kill(family[i], 0), 0);
    }
}

/* An orphan may stay a zombie until its new parent reaps it. */
static bool is_gone(pid_t pid)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    PK_CLEANUP_FD int fd = open(path, O_RDONLY);
    return fd < 0 || read(fd, text, sizeof text - 1) <= 0 || strstr(text, ") Z ");
}

static bool all_gone(const pid_t *family)
{
    for (int i = 0; i < FAMILY; i++)
        if (!is_gone(family[i]))
            return false;
    return true;
}

static struct pk_program start_family(const char *then, pid_t *family)
{
    int go[2], fd[2];
    char script[512];
    snprintf(script, sizeof script, "%s read go; %s", START_FAMILY, then);
    assert_true(!pipe2(go, O_CLOEXEC) && !pipe2(fd, O_CLOEXEC));
    const struct pk_program p = start(script, go[0], fd[1]);
    close(go[0]);
    close(fd[1]);
    read_family(fd[0], family);
    close(fd[0]);
    close(go[1]);
    return p;
}

static void what_it_left_is_ended_with_it(void **state)
{
    pid_t family[FAMILY];
    struct pk_program p = start_family("exit 3", family);
    assert_true(pk_program_ended(&p, in_seconds(60), NULL));
    assert_true(all_gone(family));
    pk_program_end(&p, 0);
    assert_true(WIFEXITED(p.status) && WEXITSTATUS(p.status) == 3);
    assert_true(p.pid == 0 && p.end_fd == -1);
    pk_program_end(&p, 0); /* nothing happens */
}

static void it_ends_with_all_it_started(void **state)
{
    static const struct {
        const char *then;
        uint64_t grace_ns;
        int signal;
    } rows[] = {
        {"wait", 0, SIGKILL},
        {"wait", 60 * PK_NS_PER_S, SIGTERM},
        {"kill -STOP $$", 60 * PK_NS_PER_S, SIGTERM}, /* stopped */
        {"trap '' TERM; setsid sleep 1000", 10 * PK_NS_PER_MS, SIGKILL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pid_t family[FAMILY];
        struct pk_program p = start_family(rows[i].then, family);
        assert_false(pk_program_ended(&p, pk_clock_ns() + 20 * PK_NS_PER_MS, NULL));
        pk_program_end(&p, rows[i].grace_ns);
        assert_true(WIFSIGNALED(p.status) && WTERMSIG(p.status) == rows[i].signal);
        assert_true(all_gone(family));
    }
}

static void a_killed_keeper_takes_the_program_along(void **state)
{
    pid_t family[FAMILY];
    struct pk_program p = start_family("wait", family);
    kill(family[2], SIGKILL); /* those outside its group live on */
    kill(family[3], SIGKILL);
    kill(p.keeper, SIGKILL);
    assert_true(pk_program_ended(&p, in_seconds(60), NULL));
    pk_program_end(&p, 0);
    assert_true(WIFSIGNALED(p.status) && WTERMSIG(p.status) == SIGKILL);
    for (const uint64_t until = in_seconds(60); !all_gone(family) && pk_clock_ns() < until;)
        usleep(1000);
    assert_true(all_gone(family));
}

static void nothing_is_left_when_we_are_killed(void **state)
{
    int fd[2];
    pid_t family[FAMILY];
    assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
    const pid_t parent = fork();
    if (parent == 0) {
        start(START_FAMILY "wait", -1, fd[1]);
        pause();
    }
    read_family(fd[0], family);
    kill(parent, SIGKILL);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    for (const uint64_t until = in_seconds(60); !all_gone(family) && pk_clock_ns() < until;)
        usleep(1000);
    assert_true(all_gone(family));
    close(fd[0]);
    close(fd[1]);
}

static void the_keeper_holds_nothing_open(void **state)
{
    char path[64], target[256];
    struct pk_program p = start("exec sleep 1000", -1, -1);
    snprintf(path, sizeof path, "/proc/%d/fd", (int)p.keeper);
    DIR *d = opendir(path);
    assert_non_null(d);
    int n = 0;
    for (const struct dirent *e; (e = readdir(d)); n++)
        ;
    closedir(d);
    assert_int_equal(n, 2 + 1);
    snprintf(path, sizeof path, "/proc/%d/fd/0", (int)p.keeper);
    const ssize_t length = readlink(path, target, sizeof target);
    assert_true(length > 5 && !memcmp(target, "pipe:", 5));
    pk_program_end(&p, 0);
}

static void why_it_cannot_start(void **state)
{
    static const struct {
        const char *program, *folder;
        int error;
    } rows[] = {
        {"no-such-program", NULL, ENOENT}, {"/dev/null", NULL, EACCES}, {"true", "/no/such/folder", ENOENT}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pk_program p;
        const char *const argv[] = {rows[i].program, NULL};
        const struct pk_program_setup setup = {
            .argv = argv, .folder = rows[i].folder, .fd = {-1, -1, -1, -1}};
        assert_int_equal(pk_program_start(&p, &setup), rows[i].error);
        assert_true(p.pid == 0 && p.end_fd == -1);
    }
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
}

static void it_has_the_folder_and_descriptors_of_its_setup(void **state)
{
    int out[2], errors[2];
    char text[64] = "";
    struct pk_program p;
    assert_true(!pipe2(out, O_CLOEXEC) && !pipe2(errors, O_CLOEXEC));
    const char *const argv[] = {"sh", "-c", "pwd; cat; echo $A >&2", NULL};
    const char *const env[] = {"A=b", NULL};
    const struct pk_program_setup setup = {argv, env, "/proc", {-1, out[1], errors[1], -1}};
    assert_int_equal(pk_program_start(&p, &setup), 0);
    assert_true(pk_program_ended(&p, in_seconds(60), NULL));
    pk_program_end(&p, 0);
    assert_int_equal(read(out[0], text, sizeof text), 6);
    assert_memory_equal(text, "/proc\n", 6);
    assert_int_equal(read(errors[0], text, sizeof text), 2);
    assert_memory_equal(text, "b\n", 2);
    for (int i = 0; i < 2; i++) {
        close(out[i]);
        close(errors[i]);
    }
}

static void waiting_ends_by_the_flag(void **state)
{
    volatile int stop = 1;
    struct pk_program p = start("exec sleep 1000", -1, -1);
    assert_false(pk_program_ended(&p, in_seconds(60), &stop));
    pk_program_end(&p, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_left_is_ended_with_it),
        cmocka_unit_test(it_ends_with_all_it_started),
        cmocka_unit_test(a_killed_keeper_takes_the_program_along),
        cmocka_unit_test(nothing_is_left_when_we_are_killed),
        cmocka_unit_test(the_keeper_holds_nothing_open),
        cmocka_unit_test(why_it_cannot_start),
        cmocka_unit_test(it_has_the_folder_and_descriptors_of_its_setup),
        cmocka_unit_test(waiting_ends_by_the_flag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
