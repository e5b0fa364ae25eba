/* Trace: a log of the pieces of work of a device: kernels and copies of a GPU, ops and copies of a device that computes on the calling
 * thread.
 *
 * When dev->trace is set, each op and copy is recorded with its declared work and with the clock before and after it, in arrays
 * allocated before; when it is NULL, an op costs one more branch. On a device that computes on the calling thread these rows are the
 * pieces. A GPU's pieces come from the vendor's profiler (counter/cuda/gpu_trace.c); its op rows tell which op launched each. Traces are
 * made through counter/tracing.h and evaluated by counter/breakdown.h. */
#pragma once

#include "base/arena.h"
#include "device/mark.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pk_device;

enum pk_kernel_family {
    PK_FAMILY_GEMM,             /* of weights */
    PK_FAMILY_ATTENTION_MATMUL, /* products of unfused attention: Q K^T, P V and those of backward */
    PK_FAMILY_ATTENTION,        /* fused: contains softmax and both products */
    PK_FAMILY_SOFTMAX,
    PK_FAMILY_NORM,
    PK_FAMILY_ELEMENTWISE,
    PK_FAMILY_LOSS,
    PK_FAMILY_OPTIMIZER,
    PK_FAMILY_COPY,
    PK_FAMILY_COMM,
    PK_FAMILY_OTHER,
    PK_FAMILIES
};
extern const char *const pk_family_names[PK_FAMILIES]; /* "gemm", ... as in the store */

/* Regions are assigned after the iteration (counter/breakdown.h); until then PK_NO_REGION. */
enum { PK_NO_REGION = -1 };

/* Declared work of an op (ops/ops.h); of a copy only the bytes. */
struct pk_declared {
    double flops, bytes;
};

/* What a kernel of a GPU needs of a multiprocessor, by its profiler; all 0 of anything else. */
struct pk_kernel_needs {
    uint32_t registers;                   /* of a thread */
    uint32_t static_bytes, dynamic_bytes; /* shared memory of a block */
    uint32_t local_bytes;                 /* of a thread: registers that were spilled, arrays */
    double occupancy;                     /* share of a multiprocessor's threads, at most; 0 = not known */
    const char *limited_by;               /* "registers"; NULL = not known, or nothing */
};

struct pk_kernel {
    const char *name; /* "softmax", "softmax.cu:forward", "copy host to device" */
    enum pk_kernel_family family;
    int region;           /* of the probe's table */
    uint32_t occurrence;  /* of the region: its index among the marks */
    uint32_t lane;        /* an enum pk_lane, or the profiler's number of a GPU stream */
    uint64_t launched_ns; /* when the host launched it, by the device's clock; 0 = unknown */
    uint64_t begin_ns,
        end_ns; /* when it ran; on a GPU converted to the host's clock, to about a microsecond */
    uint32_t grid[3], block[3]; /* of a GPU's kernels, else 0 */
    struct pk_kernel_needs needs;
    int64_t copied_bytes;        /* of a GPU's copies and fills, as its profiler counts them, else 0 */
    struct pk_declared declared; /* 0 for a GPU's pieces: see the ops */
    bool placed;                 /* its region is already set */
    bool continued;              /* goes on with an op that others interrupted: no call of its own */
};

/* Sums by the region that was open innermost, [0] = none, and family. */
struct pk_tape {
    struct pk_declared of[1 + PK_REGIONS_MAX][PK_FAMILIES];
};

/* What a GPU's profiler and driver did besides the work, on threads of the host. The first three are the profiler's own. */
enum pk_overhead_kind {
    PK_OVERHEAD_INSTRUMENTATION,
    PK_OVERHEAD_BUFFERS,   /* taking and giving back those of records */
    PK_OVERHEAD_RESOURCES, /* making and freeing what it needs on the GPU */
    PK_OVERHEAD_COMPILER,
    PK_OVERHEAD_LOADING, /* modules and functions at their first use */
    PK_OVERHEAD_FULL,    /* the host waited for room for its launches */
    PK_OVERHEAD_OTHER,
    PK_OVERHEADS
};
extern const char *const pk_overhead_names[PK_OVERHEADS]; /* "instrumentation", ... as in the store */

struct pk_overhead {
    size_t n;
    uint64_t ns;
};

struct pk_trace {
    struct pk_kernel *v;
    size_t n, cap;
    struct pk_overhead overhead[PK_OVERHEADS]; /* of a GPU */
    size_t dropped;                            /* rows that did not fit: the trace is incomplete */
    const struct pk_trace *ops;                /* of a GPU: the ops that launched v; NULL = v are ops */
    struct pk_tape
        *tape; /* during a capture (lane.h): sums instead of rows, so that everything fits; else NULL */
};

void pk_trace_init(struct pk_trace *t, struct pk_arena *a, size_t cap);

/* Logs the op or copy that began at begin_ns and has just ended. dev->trace is set. Never allocates. */
void pk_trace_add(struct pk_device *dev, const char *name, enum pk_kernel_family family, uint64_t begin_ns,
                  struct pk_declared declared);
/* Logs a replay: everything on the tape was launched at launched_ns, by one call. Adds a row for each sum. */
void pk_trace_add_tape(struct pk_trace *t, const char *name, const struct pk_tape *tape,
                       uint64_t launched_ns);

/* --- kernels: what one is called for people, and which family it is of, from its symbol: cuda/kernel_names.c ---------------- */

/* By the first matching pattern for kernels of perfkit, cuBLAS, cuDNN, NCCL, CUB and PyTorch; PK_FAMILY_OTHER when none matches. */
enum pk_kernel_family pk_kernel_family_of(const char *symbol);

/* A readable name: of perfkit's kernels file and function, "softmax.cu:forward_long", equal in every build; of others the nested name
 * without template arguments, "cublasLt::splitKreduce_kernel"; names that are not mangled are unchanged. In the arena. */
const char *pk_kernel_name(const char *symbol, struct pk_arena *a);
