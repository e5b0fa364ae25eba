/* Checks: each runs in a worker that is started for it alone. A check that uses a driver or starts ranks may crash or hang, and must not
 * do so in the calling process. */
#pragma once

#include "bench/client/worker_client.h"
#include "counter/source.h"

/* Tests a counter source with work whose counts are known, in its own worker, because a process cannot start a second profiler after the
 * first one ended. Texts are in the arena. A worker that ends, violates the protocol or is still busy at deadline_ns makes it
 * PK_SOURCE_UNAVAILABLE, with the reason. PK_E_INTERRUPTED when *stop_flag was set. */
enum pk_code pk_source_selftest(const struct pk_provider *provider, const char *source, uint64_t deadline_ns,
                                const volatile int *stop_flag, struct pk_arena *a,
                                struct pk_source_found *out, struct pk_err *err) PK_MUST_CHECK;

/* Can ranks be started here? Two are, and meet. */
struct pk_mpi_found {
    const char *library; /* "Open MPI v4.1.4"; NULL = they did not meet */
    uint64_t ns;         /* until they had met */
    const char *why;     /* they did not */
};

/* Within seconds. Texts in the arena. PK_E_INTERRUPTED when *stop_flag was set. */
enum pk_code pk_mpi_check(const volatile int *stop_flag, struct pk_arena *a, struct pk_mpi_found *out,
                          struct pk_err *err) PK_MUST_CHECK;
