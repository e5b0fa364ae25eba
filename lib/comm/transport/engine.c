/* Engine: a queue, a thread, two conditions. */
#include "comm/transport/engine.h"

#include "base/clock.h"
#include "base/err.h"

#include <signal.h>
#include <string.h>

/* The next job, or NULL when there will be none. */
static struct pk_job *next_job(struct pk_engine *e)
{
    pthread_mutex_lock(&e->lock);
    while (!e->first && !e->stopping)
        pthread_cond_wait(&e->posted, &e->lock);
    struct pk_job *j = e->first;
    if (j && !(e->first = j->next))
        e->last = &e->first;
    pthread_mutex_unlock(&e->lock);
    return j;
}

static void *work(void *user)
{
    struct pk_engine *e = user;
    for (struct pk_job *j; (j = next_job(e));) {
        j->began_ns = pk_clock_ns();
        j->rc = j->call(j->user);
        j->ended_ns = pk_clock_ns();
        pthread_mutex_lock(&e->lock);
        atomic_store_explicit(&j->over, true, memory_order_release);
        pthread_cond_broadcast(&e->finished);
        pthread_mutex_unlock(&e->lock);
    }
    return NULL;
}

enum pk_code pk_engine_start(struct pk_engine *e, struct pk_err *err)
{
    *e = (struct pk_engine){0};
    e->last = &e->first;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->posted, &monotonic);
    pthread_cond_init(&e->finished, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigset_t all, before; /* signals are for the thread that measures */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int cause = pthread_create(&e->thread, NULL, work, e);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!cause)
        return PK_OK;
    pk_fail(err, PK_E_IO, "cannot start the thread that communicates");
    pk_why(err, "%s", strerror(cause));
    return pk_fix(err, "raise the limit of processes (ulimit -u)");
}

void pk_engine_post(struct pk_engine *e, struct pk_job *j)
{
    j->next = NULL;
    atomic_store_explicit(&j->over, false, memory_order_relaxed);
    pthread_mutex_lock(&e->lock);
    *e->last = j;
    e->last = &j->next;
    pthread_cond_signal(&e->posted);
    pthread_mutex_unlock(&e->lock);
}

bool pk_engine_wait(struct pk_engine *e, struct pk_job *j, uint64_t deadline_ns)
{
    const struct timespec t = {(time_t)(deadline_ns / PK_NS_PER_S), (long)(deadline_ns % PK_NS_PER_S)};
    int late = 0;
    if (pk_job_over(j))
        return true;
    pthread_mutex_lock(&e->lock);
    while (!pk_job_over(j) && !late)
        late = pthread_cond_timedwait(&e->finished, &e->lock, &t);
    pthread_mutex_unlock(&e->lock);
    return pk_job_over(j);
}

void pk_engine_stop(struct pk_engine *e)
{
    pthread_mutex_lock(&e->lock);
    e->stopping = true;
    pthread_cond_signal(&e->posted);
    pthread_mutex_unlock(&e->lock);
    pthread_join(e->thread, NULL);
    pk_assert(!e->first);
    pthread_cond_destroy(&e->posted);
    pthread_cond_destroy(&e->finished);
    pthread_mutex_destroy(&e->lock);
}
