/* Process: a program that perfkit talks to, with everything that it starts, none of which outlives perfkit (base/program/program.h).
 *
 * Its stdin is one end of a socket whose other end is in_fd; what it writes to the descriptor in PERFKIT_WIRE_FD arrives on wire_fd;
 * stdout and stderr are kept as a bounded tail, for messages. Every descriptor here is close-on-exec. One thread uses a process: the one
 * that started it, because the kernel ties the process to that thread. */
#pragma once

#include "base/arena.h"
#include "base/program/program.h"
#include "json/json.h"

enum { PK_TAIL_BYTES = 4096, PK_PROCESS_WIRE_FD = 3 }; /* its descriptor of the protocol */

struct pk_process {
    struct pk_program program;
    int in_fd;              /* to and from its stdin; -1 = closed */
    int wire_fd;            /* -1 = closed */
    int err_fd;             /* -1 = closed */
    bool ended, late;       /* at the last look of pk_process_wait */
    int wire_rest, in_rest; /* then: the bytes that are still read */
    size_t tail_n;
    char tail[PK_TAIL_BYTES]; /* the last bytes of stdout and stderr, not terminated */
};

/* argv[0] is searched in PATH unless it has a slash. PK_E_IO with the reason when it cannot be started. */
enum pk_code pk_process_start(struct pk_process *p, const char *const *argv,
                              struct pk_err *err) PK_MUST_CHECK;

/* Gives the process a new pipe for the protocol, before a request: an empty line on its stdin carries the other end. Nobody reads what any
 * process writes to the old one. PK_OK also when the process has ended, which the request will find out. */
enum pk_code pk_process_renew_wire(struct pk_process *p, struct pk_err *err) PK_MUST_CHECK;
/* In that process: reads a byte of its stdin; a pipe that comes with it becomes PK_PROCESS_WIRE_FD. False at the end of the input. */
bool pk_process_receive_wire(int fd, char *byte);

enum pk_process_event {
    PK_PROCESS_BYTES,    /* *n bytes of the protocol in buf */
    PK_PROCESS_REPLY,    /* *n bytes that it wrote to its stdin, which is a socket: spawners reply there */
    PK_PROCESS_SENT,     /* of pk_process_send: the message was written */
    PK_PROCESS_END,      /* it ended, and what it wrote has been read */
    PK_PROCESS_DEADLINE, /* it is late */
    PK_PROCESS_STOP,     /* *stop_flag is set */
};

/* Waits, asleep, until one of these is so. deadline_ns is of pk_clock_ns: whatever arrives, nothing is reported after it but the bytes that
 * were in the pipes at that moment. A deadline that has passed (0) therefore reads what is there. A reply comes before bytes of the
 * protocol. Signals arrive only while this sleeps, so that a stop is never missed. */
enum pk_process_event pk_process_wait(struct pk_process *p, uint64_t deadline_ns,
                                      const volatile int *stop_flag, char *buf, size_t cap, size_t *n);

/* Writes one message to its stdin. A process that does not read its stdin is late; one that has closed it has ended. */
enum pk_process_event pk_process_send(struct pk_process *p, json_t *message_stolen, uint64_t deadline_ns,
                                      const volatile int *stop_flag);

/* Waits until it ended, at most until deadline_ns. */
bool pk_process_ended(struct pk_process *p, uint64_t deadline_ns);

/* pk_program_end, and closes its stdin first and the rest after. */
void pk_process_end(struct pk_process *p, uint64_t grace_ns);

/* "ended by signal 11 (Segmentation fault)", "exit status 3"; with its last output, if any. After pk_process_end. */
const char *pk_process_exit_text(const struct pk_process *p, struct pk_arena *a);

/* The last three lines it wrote, or those of an error of perfkit itself, joined by " | ", control characters replaced; "" when there are none.
 * Lines without a word do not count. */
const char *pk_process_output_tail(const struct pk_process *p, struct pk_arena *a);
