/* Loader: which samples a micro-batch has, and the ring of slots between threads and the training. */
#include "model/epoch/loader.h"

#include "base/clock.h"
#include "base/err.h"
#include "device/cpu/cpu.h"

#include <string.h>

static size_t parts(size_t n, size_t of)
{
    return (n + of - 1) / of;
}

size_t pk_schedule_training(const struct pk_schedule *s)
{
    const size_t all = s->batch * s->ranks;
    return s->drop_last ? s->samples / all : parts(s->samples, all);
}

size_t pk_schedule_validation(const struct pk_schedule *s)
{
    return parts(s->validation, s->batch * s->ranks);
}

size_t pk_schedule_trained(const struct pk_schedule *s)
{
    return s->drop_last ? pk_schedule_training(s) * s->batch * s->ranks : s->samples;
}

struct pk_part_of_set pk_schedule_part(const struct pk_schedule *s, size_t k)
{
    const size_t training = pk_schedule_training(s);
    const bool validates = k >= training;
    const size_t begin = validates ? s->samples : 0,
                 end = validates ? s->samples + s->validation : s->samples;
    const size_t first = begin + ((validates ? k - training : k) * s->ranks + s->rank) * s->batch;
    const size_t left = first < end ? end - first : 0;
    return (struct pk_part_of_set){first, left < s->batch ? left : s->batch};
}

void pk_loader_make(struct pk_loader *l, size_t k)
{
    struct pk_slot *slot = &l->slots[k % l->n_slots];
    const struct pk_part_of_set p = pk_schedule_part(&l->schedule, k);
    const size_t seq = l->tokens->seq;
    slot->n = p.n;
    for (size_t i = 0; i < p.n; i++)
        pk_tokens_sample(l->tokens, p.first + i, slot->tokens + i * seq, slot->targets + i * seq);
}

/* True when the thread may fill micro-batch k. */
static bool wait_for_room(struct pk_loader *l, size_t k)
{
    pthread_mutex_lock(&l->lock);
    while (!l->quit && k >= l->released + l->n_slots)
        pthread_cond_wait(&l->changed, &l->lock);
    const bool go_on = !l->quit;
    pthread_mutex_unlock(&l->lock);
    return go_on;
}

static bool wait_for_epoch(struct pk_loader *l, uint64_t *seen)
{
    pthread_mutex_lock(&l->lock);
    while (!l->quit && l->epoch == *seen)
        pthread_cond_wait(&l->changed, &l->lock);
    *seen = l->epoch;
    const bool go_on = !l->quit;
    pthread_mutex_unlock(&l->lock);
    return go_on;
}

static void *work(void *arg)
{
    const struct pk_loader_thread *me = arg;
    struct pk_loader *l = me->l;
    uint64_t seen = 0;
    if (l->cpus.n)
        pk_bind_thread(&l->cpus); /* refused: it runs beside the thread that measures */
    while (wait_for_epoch(l, &seen))
        for (size_t k = me->number; k < l->steps; k += l->workers) {
            if (!wait_for_room(l, k))
                return NULL;
            pk_loader_make(l, k);
            pthread_mutex_lock(&l->lock);
            l->slots[k % l->n_slots].full = true;
            pthread_cond_broadcast(&l->changed);
            pthread_mutex_unlock(&l->lock);
        }
    return NULL;
}

static enum pk_code make_slots(struct pk_loader *l, struct pk_arena *a, struct pk_err *err)
{
    const size_t n = l->schedule.batch * l->tokens->seq;
    l->slots = pk_new_n(a, struct pk_slot, l->n_slots);
    for (size_t i = 0; i < l->n_slots; i++) {
        int32_t *x =
            pk_lanes_queue(l->dev) ? pk_lanes_pin(l->dev, 2 * n * sizeof *x) : pk_new_n(a, int32_t, 2 * n);
        if (!x)
            return pk_fail(err, PK_E_OOM, "no pinned memory for %zu tokens", 2 * n);
        l->slots[i] = (struct pk_slot){.tokens = x, .targets = x + n};
    }
    return PK_OK;
}

enum pk_code pk_loader_open(struct pk_loader *l, struct pk_device *dev, const struct pk_tokens *tokens,
                            const struct pk_schedule *s, unsigned workers, struct pk_arena *a,
                            struct pk_err *err)
{
    enum { AHEAD = 2 }; /* slots besides one for each thread: in use, and being copied */
    *l = (struct pk_loader){.dev = dev,
                            .tokens = tokens,
                            .schedule = *s,
                            .steps = pk_schedule_training(s) + pk_schedule_validation(s),
                            .workers = workers,
                            .n_slots = AHEAD + workers};
    if (make_slots(l, a, err))
        return err->code;
    pk_cpu_unused_cpus(dev, &l->cpus);
    l->threads = pk_new_n(a, struct pk_loader_thread, workers);
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&l->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    for (; l->started < workers; l->started++) {
        struct pk_loader_thread *t = &l->threads[l->started];
        *t = (struct pk_loader_thread){.l = l, .number = l->started};
        const int rc = pthread_create(&t->id, NULL, work, t);
        if (!rc)
            continue;
        pk_fail(err, PK_E_IO, "cannot start loader thread %u of %u", l->started + 1, workers);
        return pk_why(err, "%s", strerror(rc));
    }
    return PK_OK;
}

void pk_loader_close(struct pk_loader *l)
{
    if (!l->dev)
        return;
    if (l->threads) {
        pthread_mutex_lock(&l->lock);
        l->quit = true;
        pthread_cond_broadcast(&l->changed);
        pthread_mutex_unlock(&l->lock);
        for (unsigned i = 0; i < l->started; i++)
            pthread_join(l->threads[i].id, NULL);
        pthread_cond_destroy(&l->changed);
        pthread_mutex_destroy(&l->lock);
    }
    for (size_t i = 0; pk_lanes_queue(l->dev) && l->slots && i < l->n_slots; i++)
        pk_lanes_unpin(l->dev, l->slots[i].tokens);
    *l = (struct pk_loader){0};
}

void pk_loader_begin(struct pk_loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->released = 0;
    l->epoch++;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

const struct pk_slot *pk_loader_take(struct pk_loader *l, size_t k)
{
    struct pk_slot *slot = &l->slots[k % l->n_slots];
    bool there = false, broken = false;
    pthread_mutex_lock(&l->lock);
    while (!broken && !(there = l->workers ? slot->full : k < l->released + l->n_slots)) {
        const uint64_t until_ns = pk_clock_ns() + PK_NS_PER_S; /* as often as the device is looked at */
        const struct timespec until = {(time_t)(until_ns / PK_NS_PER_S), (long)(until_ns % PK_NS_PER_S)};
        pthread_cond_timedwait(&l->changed, &l->lock, &until);
        broken = pk_device_broken(l->dev);
    }
    pthread_mutex_unlock(&l->lock);
    if (there && !l->workers)
        pk_loader_make(l, k);
    return there ? slot : NULL;
}

void pk_loader_release(struct pk_loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->slots[l->released++ % l->n_slots].full = false;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}
