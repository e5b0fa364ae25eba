/* Process: start, listen, end, reap. */
#include "bench/client/process.h"

#include "base/clock.h"
#include "base/text/buf.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_WIRE_FD = 3, FIRST_FREE_FD = 10, LAST_LINES = 3 };

/* The child's descriptors, and the pipe that reports why exec failed. */
struct ends {
    int in, wire, err, exec_w;
    int exec_r;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Out of the way of 0 to 3, which the child needs for itself. */
static void move_up(int *fd)
{
    int high = *fd >= 0 && *fd < FIRST_FREE_FD ? fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD) : -1;
    if (high >= 0) {
        close(*fd);
        *fd = high;
    }
}

static bool open_pair(int *ours, int *theirs, bool both_ways)
{
    int fd[2];
    if (both_ways ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) : pipe2(fd, O_CLOEXEC))
        return false;
    *ours = fd[0];
    *theirs = fd[1];
    move_up(theirs);
    return true;
}

static void close_ends(struct ends *e)
{
    close_fd(&e->in);
    close_fd(&e->wire);
    close_fd(&e->err);
    close_fd(&e->exec_w);
    close_fd(&e->exec_r);
}

static void close_ours(struct pk_process *p)
{
    close_fd(&p->pid_fd);
    close_fd(&p->in_fd);
    close_fd(&p->wire_fd);
    close_fd(&p->err_fd);
}

static enum pk_code open_ends(struct pk_process *p, struct ends *e, struct pk_err *err)
{
    if (open_pair(&p->in_fd, &e->in, true) && open_pair(&p->wire_fd, &e->wire, false) &&
        open_pair(&p->err_fd, &e->err, false) && open_pair(&e->exec_r, &e->exec_w, false)) {
        fcntl(p->wire_fd, F_SETFL, O_NONBLOCK);
        fcntl(p->err_fd, F_SETFL, O_NONBLOCK);
        return PK_OK;
    }
    int cause = errno;
    close_ends(e);
    close_ours(p);
    pk_fail(err, PK_E_IO, "cannot open the pipes of a worker");
    pk_why(err, "%s", strerror(cause));
    return pk_fix(err, "raise the limit of open files (ulimit -n)");
}

/* The environment with PERFKIT_WIRE_FD set; made before the fork because it allocates. */
static char **environment(struct pk_arena *a)
{
    size_t n = 0;
    while (environ[n])
        n++;
    char **env = pk_new_n(a, char *, n + 2);
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], PK_WIRE_FD_ENV "=", sizeof PK_WIRE_FD_ENV))
            env[k++] = environ[i];
    env[k] = pk_printf(a, "%s=%d", PK_WIRE_FD_ENV, CHILD_WIRE_FD);
    return env;
}

/* Between fork and exec: system calls only. The parent may ignore SIGPIPE and block signals; the child must
 * not inherit it. */
_Noreturn static void become(const struct ends *e, const char *const *argv, char **env, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(e->in, 0) >= 0 && dup2(e->err, 1) >= 0 && dup2(e->err, 2) >= 0 &&
        dup2(e->wire, CHILD_WIRE_FD) >= 0)
        execvpe(argv[0], (char *const *)argv, env);
    int cause = errno;
    _exit(write(e->exec_w, &cause, sizeof cause) > 0 ? 127 : 126);
}

/* The errno of a failed exec; 0 when exec closed the pipe. */
static int exec_error(int fd)
{
    int cause = 0;
    ssize_t n;
    do {
        n = read(fd, &cause, sizeof cause);
    } while (n < 0 && errno == EINTR);
    return n == sizeof cause ? cause : 0;
}

enum pk_code pk_process_start(struct pk_process *p, const char *const *argv, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    *p = (struct pk_process){.pid_fd = -1, .in_fd = -1, .wire_fd = -1, .err_fd = -1};
    struct ends e = {-1, -1, -1, -1, -1};
    if (open_ends(p, &e, err))
        return err->code;
    char **env = environment(&a);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become(&e, argv, env, parent);
    int cause = pid < 0 ? errno : 0;
    if (pid > 0) {
        setpgid(pid, pid); /* parent or child, whichever is first; EACCES after exec is fine */
        p->pid = pid;
        close_fd(&e.exec_w);
        cause = exec_error(e.exec_r);
        p->pid_fd = pidfd_open(pid, 0);
        cause = cause || p->pid_fd >= 0 ? cause : errno;
    }
    close_ends(&e);
    if (cause) {
        pk_process_end(p, 0);
        close_ours(p);
        pk_fail(err, PK_E_IO, "cannot start '%s'", argv[0]);
        pk_why(err, "%s", strerror(cause));
        return pk_fix(err,
                      cause == ENOENT ? "install it, or give its path" : "check that it can be executed");
    }
    return PK_OK;
}

/* Keeps the last PK_TAIL_BYTES of what it says, so that a flood costs nothing. */
static void keep_tail(struct pk_process *p)
{
    char buf[4096];
    ssize_t n;
    for (int i = 0; i < 16 && (n = read(p->err_fd, buf, sizeof buf)) > 0; i++) {
        size_t keep = (size_t)n < sizeof p->tail ? (size_t)n : sizeof p->tail;
        size_t old = p->tail_n + keep > sizeof p->tail ? sizeof p->tail - keep : p->tail_n;
        memmove(p->tail, p->tail + p->tail_n - old, old);
        memcpy(p->tail + old, buf + (size_t)n - keep, keep);
        p->tail_n = old + keep;
    }
    if (n == 0)
        close_fd(&p->err_fd);
}

static struct timespec until(uint64_t deadline_ns)
{
    uint64_t now = pk_clock_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
    return (struct timespec){.tv_sec = (time_t)(left / PK_NS_PER_S), .tv_nsec = (long)(left % PK_NS_PER_S)};
}

/* Sleeps with SIGINT and SIGTERM let in; they are blocked between the look at the flag and the sleep. */
static int sleep_on(struct pollfd *fds, nfds_t n, uint64_t deadline_ns, const volatile int *stop_flag)
{
    sigset_t ours, old;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigprocmask(SIG_BLOCK, &ours, &old);
    struct timespec left = until(deadline_ns);
    int ready = stop_flag && *stop_flag ? -1 : ppoll(fds, n, &left, &old);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return ready;
}

/* Reads available bytes; closes a descriptor whose other end is closed. */
static bool read_some(int *fd, char *buf, size_t cap, size_t *n)
{
    ssize_t got = read(*fd, buf, cap);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        close_fd(fd);
    *n = got > 0 ? (size_t)got : 0;
    return got > 0;
}

enum pk_process_event pk_process_wait(struct pk_process *p, uint64_t deadline_ns,
                                      const volatile int *stop_flag, char *buf, size_t cap, size_t *n)
{
    for (;;) {
        struct pollfd fds[] = {
            {p->wire_fd, POLLIN, 0}, {p->in_fd, POLLIN, 0}, {p->err_fd, POLLIN, 0}, {p->pid_fd, POLLIN, 0}};
        int ready = sleep_on(fds, 4, deadline_ns, stop_flag);
        if (stop_flag && *stop_flag)
            return PK_PROCESS_STOP;
        if (ready == 0)
            return PK_PROCESS_DEADLINE;
        if (ready < 0)
            continue;
        if (fds[2].revents)
            keep_tail(p);
        if (fds[0].revents && read_some(&p->wire_fd, buf, cap, n))
            return PK_PROCESS_BYTES;
        if (fds[1].revents && read_some(&p->in_fd, buf, cap, n))
            return PK_PROCESS_ANSWER;
        if (fds[3].revents && !fds[0].revents && !fds[1].revents)
            return PK_PROCESS_END;
    }
}

bool pk_process_ended(struct pk_process *p, uint64_t deadline_ns)
{
    for (;;) {
        struct pollfd fds[] = {{p->pid_fd, POLLIN, 0}, {p->err_fd, POLLIN, 0}};
        struct timespec left = until(deadline_ns);
        int ready = ppoll(fds, 2, &left, NULL);
        if (ready == 0 || (ready < 0 && errno != EINTR))
            return false;
        if (ready > 0 && fds[1].revents)
            keep_tail(p);
        if (ready > 0 && fds[0].revents)
            return true;
    }
}

void pk_process_end(struct pk_process *p, uint64_t grace_ns)
{
    if (!p->pid)
        return;
    close_fd(&p->in_fd);
    if (grace_ns && !pk_process_ended(p, 0)) {
        kill(-p->pid, SIGTERM);
        pk_process_ended(p, pk_clock_ns() + grace_ns);
    }
    /* Until the leader is reaped its number is not reused, so the signal reaches only this group.
     */
    kill(-p->pid, SIGKILL);
    kill(p->pid, SIGKILL);
    while (waitpid(p->pid, &p->wait_status, 0) < 0 && errno == EINTR)
        ;
    if (p->err_fd >= 0)
        keep_tail(p);
    p->pid = 0;
    close_ours(p);
}

struct line {
    const char *s;
    size_t n;
};

/* Those with words in them: no rulings. */
static size_t split_lines(const char *s, size_t n, struct pk_arena *a, struct line **out)
{
    struct line *v = NULL;
    size_t n_lines = 0, cap = 0, len;
    for (const char *end = s + n; s < end; s += len + 1) {
        const char *newline = memchr(s, '\n', (size_t)(end - s));
        len = (size_t)((newline ? newline : end) - s);
        size_t k = 0;
        while (k < len && (s[k] == '-' || s[k] == ' '))
            k++;
        if (k == len)
            continue;
        v = pk_grow(a, v, sizeof *v, n_lines, &cap);
        v[n_lines++] = (struct line){s, len};
    }
    *out = v;
    return n_lines;
}

static bool starts_with(const struct line *l, const char *with)
{
    return l->n > strlen(with) && !memcmp(l->s, with, strlen(with));
}

/* An error message of perfkit, or a launcher's message about how a rank ended; else the last lines. */
static void choose_lines(const struct line *v, size_t n, size_t *from, size_t *to)
{
    static const char *const telling[] = {"perfkit: ", "mpiexec noticed"};
    for (size_t k = 0; k < sizeof telling / sizeof *telling; k++)
        for (size_t i = 0; i < n; i++) {
            if (!starts_with(&v[i], telling[k]))
                continue;
            *from = i++;
            while (i < n && starts_with(&v[i], "  "))
                i++;
            *to = i;
            return;
        }
    *from = n > LAST_LINES ? n - LAST_LINES : 0;
    *to = n;
}

const char *pk_process_last_words(const struct pk_process *p, struct pk_arena *a)
{
    struct line *v;
    struct pk_buf b = {.arena = a};
    size_t from, to;
    const size_t n = split_lines(p->tail, p->tail_n, a, &v);
    choose_lines(v, n, &from, &to);
    for (size_t i = from; i < to && i < from + LAST_LINES; i++) {
        pk_buf_str(&b, b.n ? " | " : "");
        pk_buf_add(&b, v[i].s, v[i].n);
    }
    /* They become JSON: control characters, and in text that is not UTF-8 every byte outside ASCII, become '?'. */
    PK_JSON_CLEANUP json_t *utf8 = json_stringn(b.s, b.n);
    for (size_t k = 0; k < b.n; k++) {
        unsigned char c = (unsigned char)b.s[k];
        if (c < ' ' || c == 0x7f || (c > 0x7f && !utf8))
            b.s[k] = '?';
    }
    return pk_buf_text(&b);
}

const char *pk_process_fate(const struct pk_process *p, struct pk_arena *a)
{
    int s = p->wait_status;
    const char *how = WIFSIGNALED(s)
                          ? pk_printf(a, "ended by signal %d (%s)", WTERMSIG(s), strsignal(WTERMSIG(s)))
                          : pk_printf(a, "exit status %d", WEXITSTATUS(s));
    const char *words = pk_process_last_words(p, a);
    return *words ? pk_printf(a, "%s; last output: %s", how, words) : how;
}
