/* Trace: a log of the work of a device, piece by piece: kernels and copies of a GPU, ops and copies of a device that computes on the
 * calling thread.
 *
 * Where dev->trace is set, ops and copies are written down as they are asked for, with what they declare to do: a clock is read before
 * and after each, in arrays made before; where it is NULL an op costs one branch more. On a device that computes on the calling thread
 * these are the pieces. A GPU's pieces come from its vendor's profiler (counter/cuda/gpu_trace.c), and its ops say what they were asked
 * for. counter/tracing.h is the one way to either, counter/breakdown.h what is made of them. */
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
    PK_FAMILY_ATTENTION,        /* fused: softmax and both products are within */
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

/* Regions are assigned after the fact (counter/breakdown.h); until then PK_NO_REGION. */
enum { PK_NO_REGION = -1 };

/* What ops declare (ops/ops.h), and of copies the bytes alone. */
struct pk_declared {
    double flops, bytes;
};

struct pk_kernel {
    const char *name; /* "softmax", "softmax.cu:forward", "copy host to device" */
    enum pk_kernel_family family;
    int region;           /* of the probe's table */
    uint32_t occurrence;  /* of the region: its place among the marks */
    uint32_t lane;        /* an enum pk_lane, or a GPU's stream by its profiler's number */
    uint64_t launched_ns; /* when the host launched it, by the device's clock; 0 = not known */
    uint64_t begin_ns,
        end_ns; /* when it ran; of a GPU: converted to the host's clock, to a microsecond or so */
    uint32_t grid[3], block[3];  /* of a GPU's kernels, else 0 */
    int64_t copied_bytes;        /* of a GPU's copies and fills, as its profiler counts them, else 0 */
    struct pk_declared declared; /* of a GPU's pieces 0: its ops say */
    bool placed;                 /* its region is known already */
};

/* Sums by the region that was open innermost, [0] = none, and family. */
struct pk_tape {
    struct pk_declared of[1 + PK_REGIONS_MAX][PK_FAMILIES];
};

struct pk_trace {
    struct pk_kernel *v;
    size_t n, cap;
    size_t dropped;             /* did not fit: the trace is not whole */
    const struct pk_trace *ops; /* of a GPU: what v was asked for by; NULL = v are ops themselves */
    struct pk_tape *tape;       /* of a capture (lane.h): in place of rows, so that all fits; else NULL */
};

void pk_trace_init(struct pk_trace *t, struct pk_arena *a, size_t cap);

/* Logs the op or copy that began at begin_ns and has just ended. dev->trace is set. Never allocates. */
void pk_trace_add(struct pk_device *dev, const char *name, enum pk_kernel_family family, uint64_t begin_ns,
                  struct pk_declared declared);
/* Everything on a tape was launched again at asked_ns, by one call: a row for each sum. */
void pk_trace_add_tape(struct pk_trace *t, const char *name, const struct pk_tape *tape,
                       uint64_t launched_ns);
