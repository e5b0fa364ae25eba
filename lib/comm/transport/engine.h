/* Engine: a thread that makes blocking calls, one at a time, in the order in which they are requested.
 *
 * MPI makes progress only inside its own calls, so overlap needs a thread inside such a call. All calls of a transport go through its
 * engine, including the first and the last: the library sees a single thread. Nothing here allocates after the start. The caller owns
 * the jobs, which live until they are over. Private to lib/comm/transport. */
#pragma once

#include "device/device.h"

#include <pthread.h>
#include <stdatomic.h>

struct pk_job {
    int (*call)(void *user); /* 0 or the transport's error number */
    void *user;
    int rc;                      /* of call, once over */
    uint64_t began_ns, ended_ns; /* pk_clock_ns */
    struct pk_job *next;
    atomic_bool over;
};

struct pk_engine {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t posted, finished;
    struct pk_job *first, **last; /* waiting to begin */
    bool stopping;
};

enum pk_code pk_engine_start(struct pk_engine *e, struct pk_err *err) PK_MUST_CHECK;
void pk_engine_post(struct pk_engine *e, struct pk_job *j);

static inline bool pk_job_over(const struct pk_job *j)
{
    return atomic_load_explicit(&j->over, memory_order_acquire);
}

/* False when it is not over by then (pk_clock_ns). */
bool pk_engine_wait(struct pk_engine *e, struct pk_job *j, uint64_t deadline_ns);

/* Ends the thread. Every posted job is over. */
void pk_engine_stop(struct pk_engine *e);
