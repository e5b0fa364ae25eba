/* Cpu: the device whose lanes are this process's own threads.
 *
 * Work runs on one pool of threads, bound to CPUs unless options.no_bind is set (device/cpu/threads.h); the thread that opened the
 * device is one of them. All lanes are the same, and marks read CLOCK_MONOTONIC. The GEMM library is opened at the first GEMM, or when
 * facts are requested, never at start-up (device/cpu/blas.h).
 *
 * Facts: threads, binding, isa, blas, blas_core, bf16, limit_bytes, and when they apply binding_warning and
 * blas_warning. */
#pragma once

#include "device/cpu/blas.h"
#include "device/cpu/threads.h"
#include "device/device.h"
#include "machine/bind.h"

extern const struct pk_device_ops pk_device_cpu; /* a row of pk_device_kinds */

/* Calls fn for every task in 0 .. n_tasks-1 on the thread pool; see pk_threads_run. */
void pk_cpu_parallel_for(struct pk_device *dev, pk_task_fn *fn, void *arg, size_t n_tasks);
unsigned pk_cpu_threads(const struct pk_device *dev);
/* The CPUs that its threads may be bound to, for other threads of this process: without those of its own threads, or all when these have
 * every one. n = 0 on other devices, and when no thread is bound: then a new thread runs where its creator may. */
void pk_cpu_unused_cpus(const struct pk_device *dev, struct pk_cpus *out);

/* PK_E_USAGE when `threads` exceeds the number of CPUs that this process may use (affinity, control group's quota), or the number in
 * `cpus` (as in pk_device_options); 0 means all of them. For the user's options; opening a device does not check them again. */
enum pk_code pk_cpu_threads_check(int64_t threads, const char *cpus, struct pk_err *err) PK_MUST_CHECK;

/* The instruction set of the kernels in use. It can be lowered for tests and comparisons; raising it above the CPU's is a bug
 * (pk_assert). */
enum pk_isa pk_cpu_isa(const struct pk_device *dev);
void pk_cpu_lower_isa(struct pk_device *dev, enum pk_isa isa);

/* The GEMM library, opened by the first call; its kind is PK_BLAS_OWN when there is none. Not to be called from a task. */
const struct pk_blas *pk_cpu_blas(struct pk_device *dev);
/* Another library that may be faster for some shapes, opened in the same way; NULL when there is none. */
const struct pk_blas *pk_cpu_other_blas(struct pk_device *dev);
/* The library for bf16 products, opened in the same way. */
const struct pk_bf16 *pk_cpu_bf16(struct pk_device *dev);

/* A pointer for ops/cpu that lives as long as the device; NULL at first. Its data is in the device's arena. */
void **pk_cpu_user_state(struct pk_device *dev);
