/* Plain: the kernels and a thread pool that spins between the kernels of a pass and sleeps between passes, when others are measured. Built with -O3 -march=native -ffast-math, so that the compiler
 * vectorises the loops with its own vector expf. */
#include "plain.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

struct plain_threads {
    unsigned threads;
    const unsigned *cpus;
    const struct pk_blas *blas;
    const struct plain *a;
    void (*pass)(const struct plain_threads *c, unsigned thread);
    bool stop;
    atomic_uint arrived, phase;
    pthread_barrier_t pass_begins;
    pthread_t handle[64];
    struct seat {
        struct plain_threads *c;
        unsigned index;
    } seat[64];
};

static void barrier(struct plain_threads *c)
{
    unsigned phase = atomic_load(&c->phase);
    if (atomic_fetch_add(&c->arrived, 1) + 1 == c->threads) {
        atomic_store(&c->arrived, 0);
        atomic_store(&c->phase, phase + 1);
    }
    while (atomic_load(&c->phase) == phase)
        ;
}

static void scale(const float *restrict x, float *restrict y, size_t n, float a)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a * x[i];
}

static void softmax(const float *restrict s, float *restrict p, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++, s += n, p += n) {
        float top = s[0], sum = 0;
        for (size_t i = 1; i < n; i++)
            top = s[i] > top ? s[i] : top;
        for (size_t i = 0; i < n; i++)
            sum += p[i] = expf(s[i] - top);
        const float inverse = 1 / sum;
        for (size_t i = 0; i < n; i++)
            p[i] *= inverse;
    }
}

static void softmax_backward(const float *restrict p, const float *restrict dp, float *restrict ds,
                             size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++, p += n, dp += n, ds += n) {
        float sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += p[i] * dp[i];
        for (size_t i = 0; i < n; i++)
            ds[i] = p[i] * (dp[i] - sum);
    }
}

static void gemm(const struct plain_threads *c, bool ta, bool tb, size_t n, size_t k, const float *a,
                 const float *b, float *to)
{
    const size_t m = c->a->seq;
    pk_blas_sgemm(c->blas, &(struct pk_sgemm){ta, tb, m, n, k, 1, 0, a, b, to, ta ? m : k, tb ? k : n, n});
}

/* The kernels of one pass: `step` of problem b. */
static void forward_step(const struct plain_threads *c, int step, size_t b)
{
    const struct plain *a = c->a;
    const size_t s = b * a->seq * a->seq, x = b * a->seq * a->dim;
    switch (step) {
    case 0:
        gemm(c, false, true, a->seq, a->dim, a->q + x, a->k + x, a->s + s);
        break;
    case 1:
        scale(a->s + s, a->t + s, a->seq * a->seq, a->scale);
        break;
    case 2:
        softmax(a->t + s, a->p + s, a->seq, a->seq);
        break;
    default:
        gemm(c, false, false, a->dim, a->seq, a->p + s, a->v + x, a->o + x);
    }
}

static void backward_step(const struct plain_threads *c, int step, size_t b)
{
    const struct plain *a = c->a;
    const size_t s = b * a->seq * a->seq, x = b * a->seq * a->dim;
    switch (step) {
    case 0:
        gemm(c, true, false, a->dim, a->seq, a->p + s, a->d_o + x, a->dv + x);
        break;
    case 1:
        gemm(c, false, true, a->seq, a->dim, a->d_o + x, a->v + x, a->dp + s);
        break;
    case 2:
        softmax_backward(a->p + s, a->dp + s, a->ds + s, a->seq, a->seq);
        break;
    case 3:
        scale(a->ds + s, a->dt + s, a->seq * a->seq, a->scale);
        break;
    case 4:
        gemm(c, false, false, a->dim, a->seq, a->dt + s, a->k + x, a->dq + x);
        break;
    default:
        gemm(c, true, false, a->dim, a->seq, a->dt + s, a->q + x, a->dk + x);
    }
}

static void forward_pass(const struct plain_threads *c, unsigned thread)
{
    for (int step = 0; step < 4; step++) {
        for (size_t b = thread; b < c->a->problems; b += c->threads)
            forward_step(c, step, b);
        barrier((struct plain_threads *)c);
    }
}

static void backward_pass(const struct plain_threads *c, unsigned thread)
{
    for (int step = 0; step < 6; step++) {
        for (size_t b = thread; b < c->a->problems; b += c->threads)
            backward_step(c, step, b);
        barrier((struct plain_threads *)c);
    }
}

static void *seat_main(void *arg)
{
    struct seat *s = arg;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(s->c->cpus[s->index], &one);
    sched_setaffinity(0, sizeof one, &one);
    for (;;) {
        pthread_barrier_wait(&s->c->pass_begins);
        if (s->c->stop)
            return NULL;
        s->c->pass(s->c, s->index);
    }
}

struct plain_threads *plain_start(unsigned threads, const unsigned *cpus, const struct pk_blas *blas)
{
    struct plain_threads *c = calloc(1, sizeof *c);
    *c = (struct plain_threads){.threads = threads, .cpus = cpus, .blas = blas};
    pthread_barrier_init(&c->pass_begins, NULL, threads);
    for (unsigned i = 1; i < threads; i++) {
        c->seat[i] = (struct seat){c, i};
        pthread_create(&c->handle[i], NULL, seat_main, &c->seat[i]);
    }
    return c;
}

void plain_stop(struct plain_threads *c)
{
    c->stop = true;
    pthread_barrier_wait(&c->pass_begins);
    for (unsigned i = 1; i < c->threads; i++)
        pthread_join(c->handle[i], NULL);
    pthread_barrier_destroy(&c->pass_begins);
    free(c);
}

static void run(struct plain_threads *c, const struct plain *a,
                void (*pass)(const struct plain_threads *, unsigned))
{
    c->a = a;
    c->pass = pass;
    pthread_barrier_wait(&c->pass_begins);
    pass(c, 0);
}

void plain_forward(struct plain_threads *c, const struct plain *a)
{
    run(c, a, forward_pass);
}

void plain_backward(struct plain_threads *c, const struct plain *a)
{
    run(c, a, backward_pass);
}
