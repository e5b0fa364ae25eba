/* Program output: starts a program, reads what it prints until a deadline, ends it. */
#include "machine/software/program_output.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/text/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/wait.h>

extern char **environ;

int pk_program_start(const char *const argv[], const char *folder, int output, int errors, pid_t *pid)
{
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t attr;
    if (posix_spawn_file_actions_init(&fa))
        return ENOMEM;
    if (posix_spawnattr_init(&attr)) {
        posix_spawn_file_actions_destroy(&fa);
        return ENOMEM;
    }
    int e = posix_spawn_file_actions_adddup2(&fa, output, 1);
    e = e ? e : posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    if (!e)
        e = errors < 0 ? posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0)
                       : posix_spawn_file_actions_adddup2(&fa, errors, 2);
    e = e || !folder ? e : posix_spawn_file_actions_addchdir_np(&fa, folder);
    e = e ? e : posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
    e = e ? e : posix_spawnp(pid, argv[0], &fa, &attr, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&fa);
    return e;
}

/* Reads until end of file, enough, or the deadline; false at the deadline. */
static bool read_until(int fd, uint64_t deadline_ns, struct pk_buf *out)
{
    while (out->n < PK_PROGRAM_OUTPUT_BYTES) {
        uint64_t now = pk_clock_ns();
        if (now >= deadline_ns)
            return false;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = poll(&p, 1, (int)((deadline_ns - now) / PK_NS_PER_MS) + 1);
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready <= 0)
            continue;
        char chunk[1024];
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        pk_buf_add(out, chunk, (size_t)got);
    }
    return true;
}

const char *pk_program_output(const char *const argv[], uint64_t patience_ns, struct pk_arena *a)
{
    int fds[2];
    pid_t pid;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return NULL;
    PK_CLEANUP_FD int read_end = fds[0];
    const bool started = pk_program_start(argv, NULL, fds[1], -1, &pid) == 0;
    close(fds[1]);
    if (!started)
        return NULL;
    struct pk_buf out = {.arena = a};
    bool complete = read_until(read_end, pk_clock_ns() + patience_ns, &out);
    bool cut = out.n >= PK_PROGRAM_OUTPUT_BYTES;
    if (!complete || cut)
        kill(-pid, SIGKILL);
    int status;
    pid_t got;
    do
        got = waitpid(pid, &status, 0);
    while (got < 0 && errno == EINTR);
    const bool ok = got == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return complete && (ok || cut) ? pk_buf_text(&out) : NULL;
}
