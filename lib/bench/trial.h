/* Trial: a source of counts tried with work whose counts are known, by a worker: what touches a driver may crash or hang, and not in the
 * process that asks. */
#pragma once

#include "bench/worker/worker_client.h"
#include "counter/source.h"

/* Experiment of the request; the variant is the source's name, the pass `calibration`. */
#define PK_TRIAL "source-trial"

/* Tries one source in a worker that is started for it and ends with it: a profiler that was ended leaves a process in which another does not
 * begin. Texts are in the arena. A worker that ends, breaks the protocol or is still busy at deadline_ns makes it PK_SOURCE_UNAVAILABLE, with
 * what became of it. PK_E_INTERRUPTED when *stop_flag was set. */
enum pk_code pk_trial_ask(const struct pk_provider *provider, const char *source, uint64_t deadline_ns,
                          const volatile int *stop_flag, struct pk_arena *a, struct pk_source_found *out,
                          struct pk_err *err) PK_MUST_CHECK;

/* The worker's end: what such a request is answered with. PK_E_USAGE for a source that this build does not have. */
enum pk_code pk_trial_slice(const char *source, struct pk_arena *a, struct pk_slice *out,
                            struct pk_err *err) PK_MUST_CHECK;
