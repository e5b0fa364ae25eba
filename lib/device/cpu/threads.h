/* Threads: a pool of bound threads that runs loops for the CPU device.
 *
 * The caller is member 0 and works too, so a pool of one starts no thread. Members wait for the next loop by
 * spinning briefly (the loops of one iteration follow each other at once) and then sleep. One loop runs at
 * a time; starting one costs no allocation and no system call while the thread pool still spins. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct pk_threads;

/* Task `task` of a loop, on member `thread` (0 .. n-1) of the thread pool. */
typedef void pk_task_fn(void *arg, size_t task, unsigned thread);

/* Starts a pool of n >= 1. Member i is bound to cpus[i % n_cpus]; with n_cpus == 0 no thread is bound. The caller's own affinity is
 * restored by pk_threads_stop. The pool is in the arena. */
enum pk_code pk_threads_start(struct pk_threads **out, struct pk_arena *a, unsigned n, const unsigned *cpus,
                              unsigned n_cpus, struct pk_err *err) PK_MUST_CHECK;
void pk_threads_stop(struct pk_threads *t); /* NULL is allowed */

/* Calls fn for every task in 0 .. n_tasks-1 and returns when all are done. Each member starts with its own contiguous share of the
 * tasks, the same in every loop of that length, so that data stays in its cache; then it takes tasks of the others. Not to be called
 * from a task. */
void pk_threads_run(struct pk_threads *t, pk_task_fn *fn, void *arg, size_t n_tasks);

unsigned pk_threads_count(const struct pk_threads *t);
/* The number of members that the kernel refused to bind. */
unsigned pk_threads_unbound(const struct pk_threads *t);
