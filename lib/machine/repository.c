/* Repository: the commit of the working directory, by asking git without a shell and for a bounded time. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "machine/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

static const uint64_t PATIENCE_NS = 2 * PK_NS_PER_S;
enum { ENOUGH_BYTES = 4096 }; /* of output: a commit, or the first changed file */

/* Standard output to the pipe, the rest nowhere; a group of its own, so that what git starts ends with it. */
static bool spawn_git(const char *const argv[], int out_fd, pid_t *pid)
{
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t attr;
    if (posix_spawn_file_actions_init(&fa) != 0)
        return false;
    if (posix_spawnattr_init(&attr) != 0) {
        posix_spawn_file_actions_destroy(&fa);
        return false;
    }
    bool ok = posix_spawn_file_actions_adddup2(&fa, out_fd, 1) == 0 &&
              posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0) == 0 &&
              posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0) == 0 &&
              posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP) == 0 &&
              posix_spawnp(pid, argv[0], &fa, &attr, (char *const *)argv, environ) == 0;
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&fa);
    return ok;
}

/* Reads until end of file, enough, or the deadline; false at the deadline. */
static bool read_until(int fd, uint64_t deadline_ns, struct pk_buf *out)
{
    while (out->n < ENOUGH_BYTES) {
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

static bool wait_ok(pid_t pid)
{
    int status;
    pid_t got;
    do
        got = waitpid(pid, &status, 0);
    while (got < 0 && errno == EINTR);
    return got == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* What a git command prints, NULL when it fails, is missing, or takes too long. Output beyond ENOUGH_BYTES is
 * cut. */
static const char *git(struct pk_arena *a, const char *const argv[])
{
    int fds[2];
    pid_t pid;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return NULL;
    PK_CLEANUP_FD int read_end = fds[0];
    bool started = spawn_git(argv, fds[1], &pid);
    close(fds[1]);
    if (!started)
        return NULL;
    struct pk_buf out = {.arena = a};
    bool complete = read_until(read_end, pk_clock_ns() + PATIENCE_NS, &out);
    bool cut = out.n >= ENOUGH_BYTES;
    if (!complete || cut)
        kill(-pid, SIGKILL);
    bool ok = wait_ok(pid);
    return complete && (ok || cut) ? pk_buf_text(&out) : NULL;
}

void pk_machine_repository(struct pk_arena *a, const char **commit, int *dirty)
{
    /* No locks are taken in a repository that others may be using, and no file system monitor is started. */
    static const char *const rev_parse[] = {"git", "rev-parse", "--verify", "--quiet", "HEAD^{commit}", NULL};
    static const char *const status[] = {
        "git",         "--no-optional-locks",  "-c", "core.fsmonitor=false", "status",
        "--porcelain", "--untracked-files=no", NULL};
    *commit = NULL;
    *dirty = -1;
    const char *head = git(a, rev_parse);
    if (!head || !*head)
        return;
    *commit = pk_strndup(a, head, strcspn(head, "\n"));
    const char *changed = git(a, status);
    if (changed)
        *dirty = *changed != '\0';
}
