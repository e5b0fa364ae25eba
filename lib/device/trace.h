/* Trace: what a device did, piece by piece: kernels and copies of a GPU, ops and copies of a device that computes on the calling
 * thread.
 *
 * Such a device writes its pieces down where dev->trace is set: a clock is read before and after each, in arrays made before; where it
 * is NULL an op costs one branch more. A GPU's pieces come from its vendor's profiler (counter/cuda/gpu_trace.c). counter/tracing.h is
 * the one way to either, counter/breakdown.h what is made of them. */
#pragma once

#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>

struct pk_device;

enum pk_kernel_family {
    PK_FAMILY_GEMM,
    PK_FAMILY_ATTENTION, /* fused: softmax and both products are within */
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

struct pk_kernel {
    const char *name; /* "softmax", "softmax.cu:forward", "copy host to device" */
    enum pk_kernel_family family;
    int region;          /* of the probe's table */
    uint32_t occurrence; /* of the region: its place among the marks */
    uint32_t lane;       /* an enum pk_lane, or a GPU's stream by its profiler's number */
    uint64_t asked_ns;   /* when the host launched it, by the device's clock; 0 = not known */
    uint64_t begin_ns,
        end_ns; /* when it ran; of a GPU: converted to the host's clock, to a microsecond or so */
    uint32_t grid[3], block[3]; /* of a GPU's kernels, else 0 */
    int64_t bytes;              /* of copies and fills, else 0 */
};

struct pk_trace {
    struct pk_kernel *v;
    size_t n, cap;
    size_t dropped; /* did not fit: the trace is not whole */
};

void pk_trace_init(struct pk_trace *t, struct pk_arena *a, size_t cap);

/* The piece that began at begin_ns has just ended. dev->trace is set. Never allocates. */
void pk_trace_add(struct pk_device *dev, const char *name, enum pk_kernel_family family, uint64_t begin_ns,
                  int64_t bytes);
