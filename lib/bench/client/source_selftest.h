/* Source self-test: a counter source tried with work whose counts are known, by a worker: what touches a driver may crash or hang, and not in
 * the process that asks. */
#pragma once

#include "bench/client/worker_client.h"
#include "counter/source.h"

/* Tries one source in a worker that is started for it and ends with it: a profiler that was ended leaves a process in which another does not
 * begin. Texts are in the arena. A worker that ends, breaks the protocol or is still busy at deadline_ns makes it PK_SOURCE_UNAVAILABLE, with
 * what became of it. PK_E_INTERRUPTED when *stop_flag was set. */
enum pk_code pk_source_selftest(const struct pk_provider *provider, const char *source, uint64_t deadline_ns,
                                const volatile int *stop_flag, struct pk_arena *a,
                                struct pk_source_found *out, struct pk_err *err) PK_MUST_CHECK;
