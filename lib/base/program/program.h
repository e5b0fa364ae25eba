/* Program: another program, of which nothing is left when this process ends, however it ends.
 *
 * A keeper stands between this process and the program: a fork of this process with no file open, which adopts every process below it that
 * loses its parent, in whatever process group or session it is. The keeper kills all of them when the program ends, when it is told to, and
 * when the thread that started it ends, by SIGKILL even: the kernel then sends the keeper a signal. It gives up after PK_PROGRAM_TIMEOUT_NS,
 * because there are processes that it cannot end: those that became another user's (sudo), those that hang in the kernel until it lets
 * go of them, and those that multiply faster than they are killed. When the keeper itself is killed by a stranger, the program dies with
 * it, and so does the program's process group if this process is alive; processes in other groups stay. */
#pragma once

#include "base/clock.h"

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#define PK_PROGRAM_TIMEOUT_NS (5 * PK_NS_PER_S)

struct pk_program {
    pid_t pid;    /* also its process group; 0 = not started, or ended by pk_program_end */
    pid_t keeper; /* our child; the program is its child */
    int end_fd; /* becomes readable when the program and everything that it started has ended; -1 = closed */
    int status; /* as of waitpid; after pk_program_end */
};

struct pk_program_setup {
    const char *const *argv; /* argv[0] is searched in PATH unless it has a slash */
    const char *const *env;  /* NULL = ours */
    const char *folder;      /* NULL = the working directory */
    int fd[4];               /* become its descriptors 0 to 3; -1 is /dev/null, and no descriptor 3 */
};

/* Starts it in a process group of its own, with no signal blocked. 0, or the errno of what failed; then there is nothing to end. */
int pk_program_start(struct pk_program *p, const struct pk_program_setup *setup);

/* Waits until it ended; false at the deadline (of pk_clock_ns), or when *stop_flag (NULL = none) is set. */
bool pk_program_ended(const struct pk_program *p, uint64_t deadline_ns, const volatile int *stop_flag);

/* Sends SIGTERM to its process group, after grace_ns SIGKILL to everything that is left of it, and reaps. grace_ns 0: at once. Nothing
 * happens when it is not running. */
void pk_program_end(struct pk_program *p, uint64_t grace_ns);

/* ppoll until the deadline, or until *stop_flag (NULL = none) is set: then -1. No signal arrives between the look at the flag and the
 * sleep, so that none is missed. */
int pk_poll_until(struct pollfd *fds, nfds_t n, uint64_t deadline_ns, const volatile int *stop_flag);
