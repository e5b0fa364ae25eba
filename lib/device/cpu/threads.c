/* Threads: the thread pool's loop, its spinning and its sleep. */
#include "device/cpu/threads.h"

#include "base/err.h"
#include "machine/machine.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum {
    SPINS = 2000,     /* 20 to 100 us, by how long the CPU's pause is */
    SHARE_BYTES = 128 /* two cache lines: neighbours are fetched in pairs */
};

/* What is left of one member's part of the loop. */
union share {
    struct {
        atomic_size_t next;
        size_t end;
    } left;
    char apart[SHARE_BYTES];
};

struct pool_thread {
    struct pk_threads *pool;
    unsigned index;
    pthread_t handle;
};

struct pk_threads {
    unsigned n, started; /* started: threads to join, member 0 not counted */
    const unsigned *cpus;
    unsigned n_cpus;
    cpu_set_t caller_affinity;
    atomic_uint unbound;

    pk_task_fn *fn; /* the loop; published by `round` */
    void *arg;
    bool stop;
    atomic_uint round, busy, asleep;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    union share *share;
    struct pool_thread *member;
};

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void bind_member(struct pk_threads *t, unsigned index)
{
    if (t->n_cpus && !pk_machine_bind(t->cpus[index % t->n_cpus]))
        atomic_fetch_add(&t->unbound, 1);
}

static void work(struct pk_threads *t, unsigned self)
{
    for (unsigned i = 0; i < t->n; i++) {
        union share *s = &t->share[(self + i) % t->n];
        for (;;) {
            size_t task = atomic_fetch_add_explicit(&s->left.next, 1, memory_order_relaxed);
            if (task >= s->left.end)
                break;
            t->fn(t->arg, task, self);
        }
    }
}

/* Returns when the round is no longer `seen`. `asleep` is raised before `round` is read again, and the caller
 * does the opposite, so one of the two always sees the other. */
static void wait_for_round(struct pk_threads *t, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&t->round) != seen)
            return;
        relax();
    }
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&t->asleep, 1);
    while (atomic_load(&t->round) == seen)
        pthread_cond_wait(&t->wake, &t->lock);
    atomic_fetch_sub(&t->asleep, 1);
    pthread_mutex_unlock(&t->lock);
}

static void next_round(struct pk_threads *t)
{
    atomic_store(&t->busy, t->started);
    atomic_fetch_add(&t->round, 1);
    if (atomic_load(&t->asleep)) {
        pthread_mutex_lock(&t->lock);
        pthread_cond_broadcast(&t->wake);
        pthread_mutex_unlock(&t->lock);
    }
}

static void *member_main(void *arg)
{
    struct pool_thread *m = arg;
    struct pk_threads *t = m->pool;
    bind_member(t, m->index);
    for (unsigned seen = 0;; seen++) {
        wait_for_round(t, seen);
        if (t->stop)
            return NULL;
        work(t, m->index);
        atomic_fetch_sub(&t->busy, 1);
    }
}

static void wait_for_members(struct pk_threads *t)
{
    for (int i = 0; atomic_load(&t->busy); i++) {
        relax();
        if (i > SPINS)
            sched_yield(); /* more members than cores: let them run */
    }
}

void pk_threads_run(struct pk_threads *t, pk_task_fn *fn, void *arg, size_t n_tasks)
{
    if (t->n == 1 || n_tasks <= 1) {
        for (size_t i = 0; i < n_tasks; i++)
            fn(arg, i, 0);
        return;
    }
    t->fn = fn;
    t->arg = arg;
    for (unsigned i = 0; i < t->n; i++) {
        atomic_store_explicit(&t->share[i].left.next, n_tasks * i / t->n, memory_order_relaxed);
        t->share[i].left.end = n_tasks * (i + 1) / t->n;
    }
    next_round(t);
    work(t, 0);
    wait_for_members(t);
}

static enum pk_code start_member(struct pk_threads *t, unsigned index, struct pk_err *err)
{
    struct pool_thread *m = &t->member[index];
    *m = (struct pool_thread){.pool = t, .index = index};
    int e = pthread_create(&m->handle, NULL, member_main, m);
    if (e) {
        pk_fail(err, PK_E_IO, "cannot start thread %u of %u", index + 1, t->n);
        pk_why(err, "the system refused it: %s", strerror(e));
        return pk_fix(err, "use fewer --threads, or raise the limit (ulimit -u)");
    }
    t->started++;
    return PK_OK;
}

enum pk_code pk_threads_start(struct pk_threads **out, struct pk_arena *a, unsigned n, const unsigned *cpus,
                              unsigned n_cpus, struct pk_err *err)
{
    pk_assert(n >= 1);
    struct pk_threads *t = *out = pk_new(a, struct pk_threads);
    t->n = n;
    t->cpus = cpus;
    t->n_cpus = n_cpus;
    t->share = pk_new_n(a, union share, n);
    t->member = pk_new_n(a, struct pool_thread, n);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    sched_getaffinity(0, sizeof t->caller_affinity, &t->caller_affinity);
    bind_member(t, 0);
    for (unsigned i = 1; i < n; i++)
        if (start_member(t, i, err)) {
            pk_threads_stop(t);
            *out = NULL;
            return err->code;
        }
    return PK_OK;
}

void pk_threads_stop(struct pk_threads *t)
{
    if (!t)
        return;
    t->stop = true;
    next_round(t);
    for (unsigned i = 1; i <= t->started; i++)
        pthread_join(t->member[i].handle, NULL);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    if (t->n_cpus)
        sched_setaffinity(0, sizeof t->caller_affinity, &t->caller_affinity);
}

unsigned pk_threads_count(const struct pk_threads *t)
{
    return t->n;
}

unsigned pk_threads_unbound(const struct pk_threads *t)
{
    return atomic_load(&t->unbound);
}
