/* Cuda: an NVIDIA GPU behind the device vtable, and what ops/cuda needs of it.
 *
 * Lanes are streams (compute and copy at default priority, comm at the highest), marks on them are events recorded from
 * a table that grows as slots are first used; lane times come from cudaEventElapsedTime after a sync. The pool's blocks come from cudaMalloc; `reserved` is what PyTorch users call reserved, `current` what they call allocated
 * (requests rounded to 512 bytes there, to PK_POOL_ALIGN here). Out of memory is the pool's NULL; the runtime's error is cleared.
 *
 * Errors: every call is checked. A sticky one (an illegal address, a launch failure, an ECC error) makes the context useless: it is
 * PK_E_INTERNAL, the device refuses all later work with the same message, and the worker ends after its slice; the run goes on with a
 * new worker. A driver too old for the runtime is said so, with both versions.
 *
 * Everything goes through the table pk_cuda_api (api.h): pk_cuda_use sets another for tests. */
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
    size_t shared_bytes; /* a block may opt in to */
    size_t l2_bytes;
    char name[256];
    char pci_id[32]; /* "00000000:3B:00.0" */
};
const struct pk_cuda_traits *pk_cuda_traits(const struct pk_device *dev);

/* What a user of the device (ops/cuda) keeps as long as it is open: `bytes` of it, zeroed at the first call with this `end`, which is
 * called by closing, while the lanes are still there. */
typedef void pk_cuda_end_fn(struct pk_device *dev, void *state);
void *pk_cuda_beside(struct pk_device *dev, size_t bytes, pk_cuda_end_fn *end);

/* Dependent launch: kernels of ops/cuda may start while the kernel before them in their stream still ends (ops/cuda/launch.h). No GPU has
 * checked it: it is off unless PERFKIT_DEPENDENT_LAUNCH=on when the device is opened, and then a fact of the device. This function switches it
 * for all devices of the process; false where it is off now, also because the GPU runs kernels that cannot wait for each other: those
 * compiled for less than compute capability 9.0. */
bool pk_cuda_overlap(struct pk_device *dev, bool on);
/* True where the next launch on this stream may carry the attribute. Called by every launch. */
bool pk_cuda_may_overlap(struct CUstream_st *stream);

/* PK_OK when rc is cudaSuccess; else the error, with the operation. Remembers sticky errors. `what` is a sentence: "launching softmax". */
enum pk_code pk_cuda_check(struct pk_device *dev, int rc, const char *what, struct pk_err *err) PK_MUST_CHECK;
/* For a call that may run out of memory: true when rc is cudaSuccess. Out of memory gives false and is cleared; what a capture forbids
 * is the error that the capture ends with; with any other error the device is broken, and the next check answers with it. */
bool pk_cuda_room(struct pk_device *dev, int rc, const char *what);

/* Pinned host memory for copies without staging; freed at close at the latest. NULL when refused. */
void *pk_cuda_pinned(struct pk_device *dev, size_t bytes);
void pk_cuda_unpin(struct pk_device *dev, void *p);

/* Overwrites the L2 cache (twice its size, taken once beside the pool), on the compute lane: for cold runs. */
enum pk_code pk_cuda_flush_l2(struct pk_device *dev, struct pk_err *err) PK_MUST_CHECK;

extern const struct pk_device_ops pk_device_cuda;

/* Facts "sheet_fp32_flops_per_s", "sheet_tf32_flops_per_s" and "sheet_bf16_flops_per_s" of a GPU, as NVIDIA's data sheets state them: dense
 * products, without sparsity. None for names that are not listed, parts of a GPU (MIG) among them. */
void pk_data_sheet(const char *gpu, pk_fact_fn *fn, void *user);
