/* Program output: starts another program without a shell; runs one for a limited time and returns what it prints. */
#pragma once

#include "base/arena.h"

#include <stdint.h>
#include <sys/types.h>

enum { PK_PROGRAM_OUTPUT_BYTES = 4096 }; /* of an answer; what comes after is cut and the program ended */

/* Starts argv (argv[0] is found in PATH) in a folder (NULL: the working directory) and a process group of its own, so that its children end
 * with it, with nothing on its standard input. Descriptors for its output and its errors; -1 throws errors away. 0, or an errno. */
int pk_program_start(const char *const argv[], const char *folder, int output, int errors, pid_t *pid);

/* Runs argv (argv[0] is found in PATH) with nothing on its standard input and its errors thrown away. NULL when it cannot be started,
 * fails, or has not ended after patience_ns; it is then killed with its children. */
const char *pk_program_output(const char *const argv[], uint64_t patience_ns, struct pk_arena *a);
