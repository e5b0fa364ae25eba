/* Program output: runs a program without a shell for a limited time and returns what it prints. */
#pragma once

#include "base/arena.h"

#include <stdint.h>

enum { PK_PROGRAM_OUTPUT_BYTES = 4096 }; /* of an output; what comes after is cut and the program ended */

/* Runs argv (argv[0] is found in PATH) with nothing on its standard input and its errors thrown away. NULL when it cannot be started,
 * fails, or has not ended after timeout_ns or when a signal comes that has a handler. Nothing that it started lives on (program.h). */
const char *pk_program_output(const char *const argv[], uint64_t timeout_ns, struct pk_arena *a);
