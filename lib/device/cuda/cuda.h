/* Cuda: an NVIDIA GPU behind the device vtable, with the functions that ops/cuda needs.
 *
 * Lanes are streams (compute and copy at default priority, comm at the highest). Marks on them are events from a table that grows when
 * slots are first used; lane times come from cudaEventElapsedTime after a sync. The pool's blocks come from cudaMalloc; `reserved` is
 * what PyTorch users call reserved, `current` what they call allocated (requests rounded to 512 bytes there, to PK_POOL_ALIGN here). Out
 * of memory is the pool's NULL; the runtime's error is cleared.
 *
 * Errors: every call is checked. A sticky error (an illegal address, a launch failure, an ECC error) makes the context useless: it is
 * PK_E_INTERNAL, the device refuses all later work with the same message, and the worker ends after its slice; the run continues with a
 * new worker. When the driver is too old for the runtime, the error names both versions.
 *
 * All calls go through the table pk_cuda_api (api.h); pk_cuda_use sets another table for tests. */
#pragma once

#include "device/device.h"

#include <stdint.h>

struct CUstream_st;
struct pk_cuda_api;

/* For tests: the table that devices opened from now on use; NULL = the runtime's. */
void pk_cuda_use(const struct pk_cuda_api *api);
const struct pk_cuda_api *pk_cuda_api_of(const struct pk_device *dev);

/* What a kernel launch needs. */
struct CUstream_st *pk_cuda_stream(struct pk_device *dev, enum pk_lane lane);
struct pk_cuda_traits {
    int capability;      /* 90 for 9.0 */
    int multiprocessors; /* 132 */
    size_t shared_bytes; /* the most that a block may opt in to */
    size_t l2_bytes;
    char name[256];
    char pci_id[32]; /* "00000000:3B:00.0" */
};
const struct pk_cuda_traits *pk_cuda_traits(const struct pk_device *dev);

/* What a block of a kernel needs of a multiprocessor. */
struct pk_cuda_needs {
    unsigned threads, registers;        /* of a block, of a thread */
    size_t static_bytes, dynamic_bytes; /* of shared memory */
};
/* The share of a multiprocessor's threads that such blocks occupy at a time, at most: by threads, registers, shared memory, barriers and
 * blocks, where the driver gives the kernel as much shared memory as there is. Clusters may allow less. *limit: which of them it is that
 * leaves no more; NULL = all threads are occupied. 0 for what is not launched or not known. */
double pk_cuda_occupancy(const struct pk_device *dev, const struct pk_cuda_needs *k, const char **limit);

/* State that a user of the device (ops/cuda) keeps as long as the device is open: `bytes` bytes, zeroed, made at the first call with
 * this `end`. pk_device_close calls `end` while the lanes still exist. */
typedef void pk_cuda_end_fn(struct pk_device *dev, void *state);
void *pk_cuda_user_state(struct pk_device *dev, size_t bytes, pk_cuda_end_fn *end);

/* Dependent launch: kernels of ops/cuda may start while the previous kernel in their stream still ends (ops/cuda/launch.h). Not verified
 * on a GPU: it is off unless PERFKIT_DEPENDENT_LAUNCH=on is set when the device is opened, and then it is a fact of the device. This
 * function switches it for all devices of the process. Returns whether it is on: never with kernels compiled for less than compute
 * capability 9.0, which cannot wait for each other. */
bool pk_cuda_overlap(struct pk_device *dev, bool on);
/* True when the next launch on this stream may have the attribute. Called by every launch. */
bool pk_cuda_may_overlap(struct CUstream_st *stream);

/* PK_OK when rc is cudaSuccess; else the error, with the operation. Remembers sticky errors. `what` is a sentence: "launching softmax". */
enum pk_code pk_cuda_check(struct pk_device *dev, int rc, const char *what, struct pk_err *err) PK_MUST_CHECK;
/* For a call that may run out of memory: true when rc is cudaSuccess. Out of memory gives false and is cleared; an error because of a
 * capture is returned at the end of the capture; any other error breaks the device, and the next check returns it. */
bool pk_cuda_room(struct pk_device *dev, int rc, const char *what);

/* Pinned host memory for copies without staging; freed at close at the latest. NULL when refused. */
void *pk_cuda_pinned(struct pk_device *dev, size_t bytes);
void pk_cuda_unpin(struct pk_device *dev, void *p);

/* Overwrites the L2 cache on the compute lane, for cold runs: writes twice its size, in memory outside the pool that is allocated once. */
enum pk_code pk_cuda_flush_l2(struct pk_device *dev, struct pk_err *err) PK_MUST_CHECK;

extern const struct pk_device_ops pk_device_cuda;

/* Facts "sheet_fp32_flops_per_s", "sheet_tf32_flops_per_s" and "sheet_bf16_flops_per_s" of a GPU from NVIDIA's data sheets: dense
 * products, without sparsity. None for GPUs that are not listed and for parts of a GPU (MIG). */
void pk_data_sheet(const char *gpu, pk_fact_fn *fn, void *user);
