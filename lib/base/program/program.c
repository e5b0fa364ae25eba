/* Program: the keeper, which only makes calls that are safe after a fork, and the side that started it. */
#include "base/program/program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    END_ALL = SIGUSR1, /* sent to the keeper, by us or because we ended */
    FIRST_FREE_FD = 10,
    REAPED_AT_ONCE = 1000,
    NS_PER_ROUND = 10 * 1000 * 1000,
};

/* The keeper's first message; the second one is the program's wait status. */
struct started {
    pid_t pid;
    int error; /* errno; 0 = it runs */
};

/* --- between fork and exec ------------------------------------------------------------------------------------------------- */

/* Descriptors become 0 to 3 by way of higher ones, so that none is overwritten before it is used. */
static bool take_descriptors(const int fd[4])
{
    int high[4];
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 4; i++)
        high[i] = fcntl(fd[i] >= 0 ? fd[i] : null, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    for (int i = 0; i < 4; i++)
        if (high[i] < 0 || dup2(high[i], i) < 0)
            return false;
    if (fd[3] < 0)
        close(3);
    return true;
}

/* Returns when it cannot be executed. Our own program is executed by its path: under valgrind, /proc/self/exe is valgrind. When the file was
 * replaced meanwhile, the path ends in " (deleted)" and is not a file. */
static void execute(const struct pk_program_setup *s)
{
    char self[PATH_MAX];
    char *const *argv = (char *const *)s->argv, *const *env = s->env ? (char *const *)s->env : environ;
    const ssize_t n = strcmp(argv[0], "/proc/self/exe") ? 0 : readlink(argv[0], self, sizeof self - 1);
    if (n > 0) {
        self[n] = '\0';
        execve(self, argv, env);
    }
    execvpe(argv[0], argv, env);
}

/* The parent may ignore SIGPIPE, and the keeper blocks signals; the program does not inherit it. */
_Noreturn static void become(const struct pk_program_setup *s, int error_fd, pid_t keeper)
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper)
        _exit(127);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    error_fd = fcntl(error_fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    if (take_descriptors(s->fd) && (!s->folder || !chdir(s->folder)))
        execute(s);
    const int cause = errno;
    _exit(write(error_fd, &cause, sizeof cause) > 0 ? 127 : 126);
}

/* --- the keeper ------------------------------------------------------------------------------------------------------------ */

/* True when n bytes have come. */
static bool receive(int fd, void *to, size_t n)
{
    ssize_t got;
    do
        got = read(fd, to, n);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)n;
}

static struct started start(const struct pk_program_setup *s)
{
    int fd[2];
    struct started r = {0};
    const pid_t keeper = getpid();
    if (pipe2(fd, O_CLOEXEC))
        return (struct started){.error = errno};
    r.pid = vfork(); /* the pages of a large parent are not marked for copying a second time */
    if (r.pid == 0)
        become(s, fd[1], keeper);
    r.error = r.pid < 0 ? errno : 0;
    close(fd[1]);
    if (!r.error && !receive(fd[0], &r.error, sizeof r.error)) /* exec closed it */
        r.error = 0;
    return r;
}

struct kept {
    pid_t pid;
    bool ended;
    int status;
};

/* Reaps children that ended; false when there is no child left. The program's number, and its group's, is given to no other process until
 * it is reaped. */
static bool reap(struct kept *k)
{
    for (int i = 0; i < REAPED_AT_ONCE; i++) {
        siginfo_t info = {0};
        int status;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT))
            return errno != ECHILD;
        if (!info.si_pid)
            return true;
        if (info.si_pid == k->pid)
            kill(-k->pid, SIGKILL);
        if (waitpid(info.si_pid, &status, 0) == k->pid) {
            k->ended = true;
            k->status = status;
        }
    }
    return true;
}

static pid_t number(const char *digits)
{
    pid_t n = 0;
    for (; *digits >= '0' && *digits <= '9'; digits++)
        n = 10 * n + (*digits - '0');
    return *digits ? 0 : n;
}

/* Of all processes of /proc the kernel tells which are our children. */
static void kill_children(void)
{
    _Alignas(struct dirent64) char entries[8192];
    ssize_t n;
    const int proc = open("/proc", O_RDONLY | O_DIRECTORY);
    while ((n = getdents64(proc, entries, sizeof entries)) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            const pid_t pid = number(entry->d_name);
            siginfo_t info;
            if (pid > 0 && !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT))
                kill(pid, SIGKILL);
            at += entry->d_reclen;
        }
    close(proc);
}

/* Children of a process that is killed become ours, and are killed in the next round. */
static void end_all(struct kept *k, const sigset_t *child)
{
    const struct timespec round = {.tv_nsec = NS_PER_ROUND};
    const uint64_t deadline_ns = pk_clock_ns() + PK_PROGRAM_TIMEOUT_NS;
    if (!k->ended)
        kill(-k->pid, SIGKILL);
    while (reap(k) && pk_clock_ns() < deadline_ns) {
        kill_children();
        sigtimedwait(child, NULL, &round);
    }
}

/* A handler of the parent's must run neither here nor in the program before its exec. What is ignored stays so. */
static void drop_handlers(void)
{
    struct sigaction a;
    for (int sig = 1; sig <= SIGSYS; sig++)
        if (!sigaction(sig, NULL, &a) && a.sa_handler != SIG_IGN)
            signal(sig, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
}

/* All signals are blocked. Nothing stays open but the pipe to the parent. */
_Noreturn static void keep(const struct pk_program_setup *s, int report_fd, pid_t parent)
{
    sigset_t all, child;
    sigfillset(&all);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    setpgid(0, 0); /* Ctrl-C in a terminal does not reach it */
    prctl(PR_SET_NAME, "pk-keeper");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, END_ALL);
    if (getppid() != parent)
        _exit(1);
    drop_handlers();
    const struct started r = start(s);
    dup2(report_fd, 0);
    closefrom(1);
    struct kept k = {.pid = r.pid, .ended = r.pid <= 0};
    bool told = write(0, &r, sizeof r) < 0 || r.error;
    while (!told && reap(&k) && !k.ended) {
        const int sig = sigwaitinfo(&all, NULL);
        told = sig == END_ALL;
        if ((sig == SIGTERM || sig == SIGINT) && kill(-k.pid, sig) == 0)
            kill(-k.pid, SIGCONT); /* a stopped process hears nothing else */
    }
    end_all(&k, &child);
    _exit(write(0, &k.status, sizeof k.status) < 0);
}

/* --- this process ---------------------------------------------------------------------------------------------------------- */

int pk_program_start(struct pk_program *p, const struct pk_program_setup *setup)
{
    int fd[2];
    sigset_t all, old;
    *p = (struct pk_program){.end_fd = -1};
    if (pipe2(fd, O_CLOEXEC))
        return errno;
    const pid_t parent = getpid();
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &old);
    const pid_t keeper = _Fork();
    if (keeper == 0)
        keep(setup, fd[1], parent);
    struct started r = {.error = errno};
    sigprocmask(SIG_SETMASK, &old, NULL);
    close(fd[1]);
    struct pollfd told = {fd[0], POLLIN, 0};
    const uint64_t deadline_ns = pk_clock_ns() + PK_PROGRAM_TIMEOUT_NS;
    int ready = 1;
    while (keeper > 0 && (ready = pk_poll_until(&told, 1, deadline_ns, NULL)) < 0)
        ;
    if (!ready) { /* somebody stopped it, or the program before its exec */
        r.error = ETIMEDOUT;
        kill(keeper, SIGKILL);
    } else if (keeper > 0 && !receive(fd[0], &r, sizeof r)) {
        r.error = ECHILD; /* somebody killed the keeper */
    }
    if (r.error) {
        close(fd[0]);
        while (keeper > 0 && waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
            ;
        return r.error;
    }
    *p = (struct pk_program){.pid = r.pid, .keeper = keeper, .end_fd = fd[0]};
    return 0;
}

int pk_poll_until(struct pollfd *fds, nfds_t n, uint64_t deadline_ns, const volatile int *stop_flag)
{
    sigset_t all, old;
    const uint64_t now = pk_clock_ns(), left_ns = deadline_ns > now ? deadline_ns - now : 0;
    const struct timespec left = {.tv_sec = (time_t)(left_ns / PK_NS_PER_S),
                                  .tv_nsec = (long)(left_ns % PK_NS_PER_S)};
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &old);
    const int ready = stop_flag && *stop_flag ? -1 : ppoll(fds, n, &left, &old);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return stop_flag && *stop_flag ? -1 : ready;
}

bool pk_program_ended(const struct pk_program *p, uint64_t deadline_ns, const volatile int *stop_flag)
{
    struct pollfd end = {p->end_fd, POLLIN, 0};
    int ready;
    do
        ready = pk_poll_until(&end, 1, deadline_ns, stop_flag);
    while (ready < 0 && !(stop_flag && *stop_flag));
    return ready > 0;
}

void pk_program_end(struct pk_program *p, uint64_t grace_ns)
{
    int keeper_status = 0;
    if (!p->pid)
        return;
    if (grace_ns && !pk_program_ended(p, 0, NULL)) {
        kill(p->keeper, SIGTERM);
        pk_program_ended(p, pk_clock_ns() + grace_ns, NULL);
    }
    kill(p->keeper, END_ALL);
    kill(p->keeper, SIGCONT); /* if a stranger stopped it */
    if (!pk_program_ended(p, pk_clock_ns() + 2 * PK_PROGRAM_TIMEOUT_NS, NULL))
        kill(p->keeper, SIGKILL);
    while (waitpid(p->keeper, &keeper_status, 0) < 0 && errno == EINTR)
        ;
    if (!receive(p->end_fd, &p->status, sizeof p->status)) {
        p->status = keeper_status;
        kill(-p->pid, SIGKILL);
    }
    close(p->end_fd);
    p->pid = 0;
    p->end_fd = -1;
}
