/* Process: start, listen, end, reap. */
#include "bench/client/process.h"

#include "base/text/buf.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LAST_LINES = 3 };

/* The child's descriptors. */
struct ends {
    int in, wire, err;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static bool open_pair(int *ours, int *theirs, bool both_ways)
{
    int fd[2];
    if (both_ways ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) : pipe2(fd, O_CLOEXEC))
        return false;
    *ours = fd[0];
    *theirs = fd[1];
    return true;
}

static void close_ends(struct ends *e)
{
    close_fd(&e->in);
    close_fd(&e->wire);
    close_fd(&e->err);
}

static void close_ours(struct pk_process *p)
{
    close_fd(&p->in_fd);
    close_fd(&p->wire_fd);
    close_fd(&p->err_fd);
}

static enum pk_code open_ends(struct pk_process *p, struct ends *e, struct pk_err *err)
{
    if (open_pair(&p->in_fd, &e->in, true) && open_pair(&p->wire_fd, &e->wire, false) &&
        open_pair(&p->err_fd, &e->err, false)) {
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

/* A message of one byte, with or for the end of a pipe. */
struct pipe_message {
    char byte;
    struct iovec bytes;
    struct msghdr m;
    union {
        struct cmsghdr first;
        char space[CMSG_SPACE(sizeof(int))];
    } end; /* last: its array has no size */
};

static void init_message(struct pipe_message *p)
{
    *p = (struct pipe_message){.byte = '\n'};
    p->bytes = (struct iovec){&p->byte, 1};
    p->m = (struct msghdr){
        .msg_iov = &p->bytes, .msg_iovlen = 1, .msg_control = &p->end, .msg_controllen = sizeof p->end};
}

enum pk_code pk_process_renew_wire(struct pk_process *p, struct pk_err *err)
{
    int ours, theirs;
    struct pipe_message message;
    ssize_t sent = -1;
    init_message(&message);
    if (open_pair(&ours, &theirs, false)) {
        fcntl(ours, F_SETFL, O_NONBLOCK);
        message.end.first = (struct cmsghdr){CMSG_LEN(sizeof theirs), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(&message.end.first), &theirs, sizeof theirs);
        close_fd(&p->wire_fd);
        p->wire_fd = ours;
        sent = sendmsg(p->in_fd, &message.m, MSG_NOSIGNAL | MSG_DONTWAIT);
        const int cause = errno;
        close(theirs);
        errno = cause;
    }
    if (sent == 1 || errno == EPIPE || errno == ECONNRESET)
        return PK_OK;
    pk_fail(err, PK_E_IO, "cannot open the pipe of a command");
    return pk_why(err, "%s", strerror(errno));
}

bool pk_process_receive_wire(int fd, char *byte)
{
    struct pipe_message message;
    ssize_t got;
    int wire;
    init_message(&message);
    do
        got = recvmsg(fd, &message.m, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    *byte = message.byte;
    if (got != 1 || message.m.msg_flags & MSG_CTRUNC)
        return false;
    if (!CMSG_FIRSTHDR(&message.m))
        return true;
    memcpy(&wire, CMSG_DATA(&message.end.first), sizeof wire);
    const bool taken = dup2(wire, PK_PROCESS_WIRE_FD) == PK_PROCESS_WIRE_FD;
    close(wire);
    return taken;
}

/* The environment with PERFKIT_WIRE_FD set. */
static const char *const *environment(struct pk_arena *a)
{
    size_t n = 0;
    while (environ[n])
        n++;
    const char **env = pk_new_n(a, const char *, n + 2);
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], PK_WIRE_FD_ENV "=", sizeof PK_WIRE_FD_ENV))
            env[k++] = environ[i];
    env[k] = pk_printf(a, "%s=%d", PK_WIRE_FD_ENV, PK_PROCESS_WIRE_FD);
    return env;
}

enum pk_code pk_process_start(struct pk_process *p, const char *const *argv, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    *p = (struct pk_process){.program.end_fd = -1, .in_fd = -1, .wire_fd = -1, .err_fd = -1};
    struct ends e = {-1, -1, -1};
    if (open_ends(p, &e, err))
        return err->code;
    const int cause = pk_program_start(
        &p->program,
        &(struct pk_program_setup){.argv = argv, .env = environment(&a), .fd = {e.in, e.err, e.err, e.wire}});
    close_ends(&e);
    if (cause) {
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

/* Bytes that can be read now. */
static int readable_bytes(int fd)
{
    int n = 0;
    return fd >= 0 && ioctl(fd, FIONREAD, &n) == 0 ? n : 0;
}

/* When the process has ended or its time is up, only the bytes that are in the pipes at that moment are still read: a process that it left
 * behind, or itself, may write without end. */
static void limit_rest(struct pk_process *p, bool ended, bool late)
{
    if ((ended && !p->ended) || (late && !p->late)) {
        p->wire_rest = readable_bytes(p->wire_fd);
        p->in_rest = readable_bytes(p->in_fd);
    }
    p->ended = ended;
    p->late = late;
}

/* Reads available bytes, at most *rest of them when the process is over; closes a descriptor whose other end is closed. */
static bool read_some(const struct pk_process *p, int *fd, int *rest, char *buf, size_t cap, size_t *n)
{
    if ((p->ended || p->late) && *rest < (int)cap)
        cap = *rest > 0 ? (size_t)*rest : 0;
    ssize_t got = *fd >= 0 && cap ? read(*fd, buf, cap) : -1;
    if (cap && (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)))
        close_fd(fd);
    *n = got > 0 ? (size_t)got : 0;
    *rest -= (int)*n;
    return got > 0;
}

enum pk_process_event pk_process_wait(struct pk_process *p, uint64_t deadline_ns,
                                      const volatile int *stop_flag, char *buf, size_t cap, size_t *n)
{
    for (;;) {
        struct pollfd fds[] = {{p->in_fd, POLLIN, 0},
                               {p->wire_fd, POLLIN, 0},
                               {p->err_fd, POLLIN, 0},
                               {p->program.end_fd, POLLIN, 0}};
        pk_poll_until(fds, 4, deadline_ns, stop_flag);
        if (stop_flag && *stop_flag)
            return PK_PROCESS_STOP;
        limit_rest(p, fds[3].revents != 0, pk_clock_ns() >= deadline_ns);
        const bool over = p->ended || p->late;
        if (fds[2].revents)
            keep_tail(p);
        if ((fds[0].revents || over) && read_some(p, &p->in_fd, &p->in_rest, buf, cap, n))
            return PK_PROCESS_REPLY;
        if ((fds[1].revents || over) && read_some(p, &p->wire_fd, &p->wire_rest, buf, cap, n))
            return PK_PROCESS_BYTES;
        if (over)
            return p->ended ? PK_PROCESS_END : PK_PROCESS_DEADLINE;
    }
}

enum pk_process_event pk_process_send(struct pk_process *p, json_t *message_stolen, uint64_t deadline_ns,
                                      const volatile int *stop_flag)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    PK_JSON_CLEANUP json_t *message = message_stolen;
    const char *line = pk_printf(&a, "%s\n", pk_json_text(&a, message, PK_JSON_COMPACT));
    if (!message)
        return PK_PROCESS_END; /* text that is not UTF-8: it gets no request */
    for (size_t left = strlen(line); left;) {
        const ssize_t done = send(p->in_fd, line, left, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && errno != EAGAIN && errno != EINTR)
            return PK_PROCESS_END;
        line += done > 0 ? done : 0;
        left -= done > 0 ? (size_t)done : 0;
        if (done > 0)
            continue;
        struct pollfd fds[] = {{p->in_fd, POLLOUT, 0}, {p->err_fd, POLLIN, 0}};
        pk_poll_until(fds, 2, deadline_ns, stop_flag);
        if (stop_flag && *stop_flag)
            return PK_PROCESS_STOP;
        if (fds[1].revents)
            keep_tail(p);
        if (pk_clock_ns() >= deadline_ns)
            return PK_PROCESS_DEADLINE;
    }
    return PK_PROCESS_SENT;
}

bool pk_process_ended(struct pk_process *p, uint64_t deadline_ns)
{
    for (;;) {
        struct pollfd fds[] = {{p->program.end_fd, POLLIN, 0}, {p->err_fd, POLLIN, 0}};
        const int ready = pk_poll_until(fds, 2, deadline_ns, NULL);
        if (ready > 0 && fds[1].revents)
            keep_tail(p);
        if (ready > 0 && fds[0].revents)
            return true;
        if ((ready < 0 && errno != EINTR) || pk_clock_ns() >= deadline_ns)
            return false;
    }
}

void pk_process_end(struct pk_process *p, uint64_t grace_ns)
{
    if (!p->program.pid)
        return;
    close_fd(&p->in_fd);
    pk_program_end(&p->program, grace_ns);
    if (p->err_fd >= 0)
        keep_tail(p);
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

const char *pk_process_output_tail(const struct pk_process *p, struct pk_arena *a)
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

const char *pk_process_exit_text(const struct pk_process *p, struct pk_arena *a)
{
    int s = p->program.status;
    const char *how = WIFSIGNALED(s)
                          ? pk_printf(a, "ended by signal %d (%s)", WTERMSIG(s), strsignal(WTERMSIG(s)))
                          : pk_printf(a, "exit status %d", WEXITSTATUS(s));
    const char *words = pk_process_output_tail(p, a);
    return *words ? pk_printf(a, "%s; last output: %s", how, words) : how;
}
