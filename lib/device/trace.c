/* Trace: pieces of work written down as they end, without allocating. */
#include "device/trace.h"

#include "device/device.h"

const char *const pk_family_names[PK_FAMILIES] = {
    [PK_FAMILY_GEMM] = "gemm",           [PK_FAMILY_ATTENTION_MATMUL] = "attention matmul",
    [PK_FAMILY_ATTENTION] = "attention", [PK_FAMILY_SOFTMAX] = "softmax",
    [PK_FAMILY_NORM] = "norm",           [PK_FAMILY_ELEMENTWISE] = "elementwise",
    [PK_FAMILY_LOSS] = "loss",           [PK_FAMILY_OPTIMIZER] = "optimizer",
    [PK_FAMILY_COPY] = "copy",           [PK_FAMILY_COMM] = "comm",
    [PK_FAMILY_OTHER] = "other",
};

const char *const pk_overhead_names[PK_OVERHEADS] = {
    [PK_OVERHEAD_INSTRUMENTATION] = "instrumentation",
    [PK_OVERHEAD_BUFFERS] = "buffers of records",
    [PK_OVERHEAD_RESOURCES] = "resources of the profiler",
    [PK_OVERHEAD_COMPILER] = "compiler of the driver",
    [PK_OVERHEAD_LOADING] = "loading of modules",
    [PK_OVERHEAD_FULL] = "command buffer full",
    [PK_OVERHEAD_OTHER] = "other",
};

void pk_trace_init(struct pk_trace *t, struct pk_arena *a, size_t cap)
{
    *t = (struct pk_trace){.v = pk_new_n(a, struct pk_kernel, cap), .cap = cap};
}

static void add_row(struct pk_trace *t, struct pk_kernel k)
{
    if (t->n == t->cap)
        t->dropped++;
    else
        t->v[t->n++] = k;
}

/* Regions nest: what began last is innermost. */
static int innermost(const struct pk_marks *m)
{
    for (size_t i = m->n; m->n_open && i-- > 0;)
        if (m->v[i].open)
            return m->v[i].region;
    return PK_NO_REGION;
}

void pk_trace_add(struct pk_device *dev, const char *name, enum pk_kernel_family family, uint64_t begin_ns,
                  struct pk_declared declared)
{
    struct pk_trace *t = dev->trace;
    if (t->tape) {
        struct pk_declared *sum = &t->tape->of[1 + innermost(&dev->marks)][family];
        sum->flops += declared.flops;
        sum->bytes += declared.bytes;
    } else {
        add_row(t, (struct pk_kernel){.name = name,
                                      .family = family,
                                      .region = PK_NO_REGION,
                                      .lane = PK_LANE_COMPUTE,
                                      .launched_ns = begin_ns,
                                      .begin_ns = begin_ns,
                                      .end_ns = dev->ops->now_ns(dev),
                                      .declared = declared});
    }
}

void pk_trace_add_tape(struct pk_trace *t, const char *name, const struct pk_tape *tape, uint64_t launched_ns)
{
    for (int r = PK_NO_REGION; r < PK_REGIONS_MAX; r++)
        for (int f = 0; f < PK_FAMILIES; f++) {
            const struct pk_declared d = tape->of[1 + r][f];
            if (d.flops > 0 || d.bytes > 0)
                add_row(t, (struct pk_kernel){.name = name,
                                              .family = (enum pk_kernel_family)f,
                                              .region = r,
                                              .lane = PK_LANE_COMPUTE,
                                              .launched_ns = launched_ns,
                                              .begin_ns = launched_ns,
                                              .end_ns = launched_ns,
                                              .declared = d,
                                              .placed = r != PK_NO_REGION});
        }
}
