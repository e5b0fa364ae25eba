/* Loader: the micro-batches of an epoch, in host memory, made by the caller or ahead of it by threads.
 *
 * Micro-batch k of an epoch takes the next batch * ranks samples of the set, of which rank r has `batch`, from the r-th on. The last one may
 * have fewer, or none for some ranks. Training has its samples first, validation those behind them. */
#pragma once

#include "device/lane.h"
#include "machine/bind.h"
#include "model/epoch/tokens.h"

#include <pthread.h>

struct pk_schedule {
    size_t samples, validation; /* of all ranks together */
    size_t batch;               /* sequences of a rank in one micro-batch */
    unsigned ranks, rank;
    bool drop_last; /* an incomplete last micro-batch of training is left out */
};

size_t pk_schedule_training(const struct pk_schedule *s);   /* micro-batches */
size_t pk_schedule_validation(const struct pk_schedule *s); /* micro-batches */
/* Samples of all ranks that training uses. */
size_t pk_schedule_trained(const struct pk_schedule *s);
/* Samples of micro-batch k of this rank; those of validation follow the ones of training. */
struct pk_part_of_set {
    size_t first, n;
};
struct pk_part_of_set pk_schedule_part(const struct pk_schedule *s, size_t k);

struct pk_slot {
    int32_t *tokens, *targets; /* [batch, seq]; targets are behind the tokens */
    size_t n;                  /* sequences in it */
    bool full;
};

struct pk_loader {
    struct pk_device *dev;
    const struct pk_tokens *tokens;
    struct pk_schedule schedule;
    size_t steps, n_slots, released; /* of this epoch */
    struct pk_slot *slots;           /* micro-batch k is in slot k % n_slots */
    unsigned workers, started;       /* threads */
    uint64_t epoch;
    bool quit;
    struct pk_cpus cpus; /* of the threads: those that the device's threads leave (pk_cpu_unused_cpus) */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct pk_loader_thread {
        struct pk_loader *l;
        unsigned number;
        pthread_t id;
    } * threads;
};

/* workers 0: pk_loader_take makes the micro-batch itself. Memory in the arena, or pinned on a device whose lanes are queues. tokens
 * outlive the loader. Also after a failure, call pk_loader_close. */
enum pk_code pk_loader_open(struct pk_loader *l, struct pk_device *dev, const struct pk_tokens *tokens,
                            const struct pk_schedule *s, unsigned workers, struct pk_arena *a,
                            struct pk_err *err) PK_MUST_CHECK;
void pk_loader_close(struct pk_loader *l);

/* The threads begin with the first micro-batch. Everything of the epoch before was taken and released. */
void pk_loader_begin(struct pk_loader *l);
/* Makes micro-batch k in its slot, while no epoch runs. */
void pk_loader_make(struct pk_loader *l, size_t k);
/* Micro-batch k, in order; waits for it. NULL on a broken device, of which nothing is released any more. */
const struct pk_slot *pk_loader_take(struct pk_loader *l, size_t k);
/* The oldest micro-batch that was taken is not needed any more. Any thread. */
void pk_loader_release(struct pk_loader *l);
