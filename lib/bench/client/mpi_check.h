/* MPI check: can ranks be started here? Two are, and meet. */
#pragma once

#include "base/arena.h"

#include <stdint.h>

struct pk_mpi_found {
    const char *library; /* "Open MPI v4.1.4"; NULL = they did not meet */
    uint64_t ns;         /* until they had met */
    const char *why;     /* they did not */
};

/* Within seconds. Texts in the arena. PK_E_INTERRUPTED when *stop_flag was set. */
enum pk_code pk_mpi_check(const volatile int *stop_flag, struct pk_arena *a, struct pk_mpi_found *out,
                          struct pk_err *err) PK_MUST_CHECK;
