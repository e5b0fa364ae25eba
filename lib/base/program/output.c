/* Program output: starts a program, reads what it prints until a deadline, ends it. */
#include "base/program/output.h"

#include "base/file.h"
#include "base/program/program.h"
#include "base/text/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

/* Reads until end of file, enough, the deadline or a signal that has a handler; false in the last two cases. */
static bool read_until(int fd, uint64_t deadline_ns, struct pk_buf *out)
{
    while (out->n < PK_PROGRAM_OUTPUT_BYTES) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        char chunk[1024];
        if (pk_clock_ns() >= deadline_ns)
            return false;
        const int ready = pk_poll_until(&p, 1, deadline_ns, NULL);
        if (ready < 0)
            return false;
        if (ready == 0)
            continue;
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        pk_buf_add(out, chunk, (size_t)got);
    }
    return true;
}

const char *pk_program_output(const char *const argv[], uint64_t timeout_ns, struct pk_arena *a)
{
    int fds[2];
    struct pk_program program;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return NULL;
    PK_CLEANUP_FD int read_end = fds[0];
    const int e =
        pk_program_start(&program, &(struct pk_program_setup){.argv = argv, .fd = {-1, fds[1], -1, -1}});
    close(fds[1]);
    if (e)
        return NULL;
    struct pk_buf out = {.arena = a};
    const uint64_t deadline_ns = pk_clock_ns() + timeout_ns;
    const bool complete = read_until(read_end, deadline_ns, &out), cut = out.n >= PK_PROGRAM_OUTPUT_BYTES;
    if (complete && !cut)
        pk_program_ended(&program, deadline_ns, NULL);
    pk_program_end(&program, 0);
    const bool ok = WIFEXITED(program.status) && WEXITSTATUS(program.status) == 0;
    return complete && (ok || cut) ? pk_buf_text(&out) : NULL;
}
