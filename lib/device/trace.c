/* Trace: pieces of work written down as they end, without allocating. */
#include "device/trace.h"

#include "device/device.h"

const char *const pk_family_names[PK_FAMILIES] = {
    [PK_FAMILY_GEMM] = "gemm",
    [PK_FAMILY_ATTENTION] = "attention",
    [PK_FAMILY_SOFTMAX] = "softmax",
    [PK_FAMILY_NORM] = "norm",
    [PK_FAMILY_ELEMENTWISE] = "elementwise",
    [PK_FAMILY_LOSS] = "loss",
    [PK_FAMILY_OPTIMIZER] = "optimizer",
    [PK_FAMILY_COPY] = "copy",
    [PK_FAMILY_COMM] = "comm",
    [PK_FAMILY_OTHER] = "other",
};

void pk_trace_init(struct pk_trace *t, struct pk_arena *a, size_t cap)
{
    *t = (struct pk_trace){.v = pk_new_n(a, struct pk_kernel, cap), .cap = cap};
}

void pk_trace_add(struct pk_device *dev, const char *name, enum pk_kernel_family family, uint64_t begin_ns,
                  int64_t bytes)
{
    struct pk_trace *t = dev->trace;
    const uint64_t end_ns = dev->ops->now_ns(dev);
    if (t->n == t->cap) {
        t->dropped++;
        return;
    }
    t->v[t->n++] = (struct pk_kernel){.name = name,
                                      .family = family,
                                      .region = PK_NO_REGION,
                                      .lane = PK_LANE_COMPUTE,
                                      .asked_ns = begin_ns,
                                      .begin_ns = begin_ns,
                                      .end_ns = end_ns,
                                      .bytes = bytes};
}
