/* Spawner: a small process that starts commands, so that the size of the parent does not show in their peak memory: Linux
 * hands the peak of the process image before exec on to the one after it.
 *
 * It reads measure requests that carry "command" (array of words), "prepare" (a shell line; optional) and "ignore_failure" on
 * a socket and answers each with a slice on the same socket:
 *   wall_ns             from just before exec until the exit is known
 *   user_ns, system_ns  CPU time of the command and its waited-for children
 *   peak_bytes          resident memory of its largest process
 *   page_faults, context_switches   counted by the kernel, minor and major, voluntary and not
 * and the note "exit_status" (128 + signal when a signal ended it). When the request's pass is "counter" and it carries "counters" the
 * answer is counted.h's instead: nothing is timed where something is counted. The command inherits the spawner's stderr and
 * PERFKIT_WIRE_FD; its stdin and stdout are /dev/null. */
#pragma once

#include "base/err.h"

/* Serves until quit or end of input. */
enum pk_code pk_spawner_serve(int fd, struct pk_err *err) PK_MUST_CHECK;
