/* Staged: all-reduces of device arrays by a transport that supports only host memory.
 *
 * On the communication lane, in order: parts are copied into a pinned buffer, as many as fit; a host callback passes the buffer to the
 * transport's engine, whose thread averages it, and waits; the result is copied back. Neither the host that started it nor the compute
 * lane waits. Private to lib/comm/transport. */
#pragma once

#include "comm/transport/engine.h"
#include "comm/transport/flight.h"

enum { PK_STAGED_BYTES = 16 << 20, PK_STAGED_BATCHES = 1024 };

struct pk_staged;
/* Averages n elements in host memory over the ranks, on the engine's thread; 0 or the transport's number of an error. */
typedef int pk_staged_fn(void *user, void *data, size_t n, enum pk_dtype type);

struct pk_staged_batch {
    struct pk_job job; /* first: a job is its batch */
    struct pk_staged *s;
    size_t n;
    enum pk_dtype type;
};

struct pk_staged {
    struct pk_flight flight;
    struct pk_engine *engine;
    pk_staged_fn *average;
    void *user;
    char *pinned;
    struct pk_staged_batch *batches; /* batch number n is in batches[n % PK_STAGED_BATCHES] */
    uint64_t posted;
    _Atomic uint64_t done;
    atomic_bool late; /* a call on the engine's thread takes longer than the comm's timeout */
    atomic_int rc;    /* the first error of average */
};

/* The engine is running. PK_E_OOM when there is no pinned memory. */
enum pk_code pk_staged_open(struct pk_staged *s, struct pk_comm *c, struct pk_engine *engine,
                            pk_staged_fn *average, void *user, struct pk_err *err) PK_MUST_CHECK;
/* A buffer that a hanging call still uses is not freed. */
void pk_staged_close(struct pk_staged *s);

/* The transport's hook `start`; for wait and settle use the flight. */
enum pk_code pk_staged_start(struct pk_staged *s, struct pk_reduce *r, struct pk_err *err) PK_MUST_CHECK;
