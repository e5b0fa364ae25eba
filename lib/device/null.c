/* Null device: a fake clock and addresses for memory. */
#include "device/null.h"

#include "base/err.h"
#include "base/rng.h"

#include <math.h>

struct null {
    uint64_t now_ns;
    uintptr_t next_address;
    struct pk_rng rng;
    bool jitter;
    double process_factor;
    struct pk_null_counts counted;
    struct pk_null_part part;
};

static const char *available(void)
{
    return NULL;
}

static enum pk_code null_open(struct pk_device *dev, const struct pk_device_options *opt, struct pk_err *err)
{
    struct null *n = pk_new(&dev->arena, struct null);
    n->next_address = (uintptr_t)1 << 40;
    n->rng.state = opt->seed;
    n->jitter = opt->seed != 0;
    n->process_factor = n->jitter ? exp(PK_NULL_SD_PROCESS * pk_rng_normal(&n->rng)) : 1;
    n->part.kind = PK_DEVICE_NULL;
    dev->impl = n;
    if (opt->limit_bytes == 0)
        dev->pool.limit = (size_t)PK_NULL_LIMIT_GIB << 30;
    return PK_OK;
}

static void null_close(struct pk_device *dev)
{
    dev->impl = NULL;
}

static uint64_t now_ns(struct pk_device *dev)
{
    const struct null *n = dev->impl;
    return n->now_ns;
}

static enum pk_code sync_nothing(struct pk_device *dev, struct pk_err *err)
{
    return PK_OK;
}

/* Addresses are used once, so that a use after free differs from a reuse. */
static void *reserve(struct pk_device *dev, size_t bytes)
{
    struct null *n = dev->impl;
    void *p = (void *)n->next_address;
    n->next_address += bytes;
    return p;
}

static void release(struct pk_device *dev, void *p, size_t bytes)
{
}

static enum pk_code copy(struct pk_device *dev, enum pk_lane lane, enum pk_copy dir, void *dst,
                         const void *src, size_t bytes, struct pk_err *err)
{
    pk_null_work(dev, 0, pk_device_copy_declares(dir, bytes), 0);
    return PK_OK;
}

static void delay(struct pk_device *dev, enum pk_lane lane, uint64_t ns)
{
    pk_null_advance(dev, ns);
}

static void facts(struct pk_device *dev, pk_fact_fn *fn, void *user)
{
    const struct null *n = dev->impl;
    fn(user, "clock", n->jitter ? "fake, with noise" : "fake, exact");
}

void pk_null_advance(struct pk_device *dev, uint64_t ns)
{
    pk_assert(dev->kind == PK_DEVICE_NULL);
    struct null *n = dev->impl;
    if (n->jitter)
        ns =
            (uint64_t)llround((double)ns * n->process_factor * exp(PK_NULL_SD_STEP * pk_rng_normal(&n->rng)));
    n->now_ns += ns;
}

void pk_null_work(struct pk_device *dev, double flops, double bytes, double exps)
{
    double ns =
        fmax(flops / PK_NULL_FLOPS_PER_NS, fmax(bytes / PK_NULL_BYTES_PER_NS, exps / PK_NULL_EXPS_PER_NS));
    pk_null_advance(dev, (uint64_t)ceil(ns));
    struct null *n = dev->impl;
    n->counted.works++;
    n->counted.flops += flops;
    n->counted.bytes += bytes;
    n->counted.exps += exps;
}

void pk_null_set_workspace_of(struct pk_device *dev, struct pk_null_part part)
{
    pk_assert(dev->kind == PK_DEVICE_NULL);
    struct null *n = dev->impl;
    n->part = part;
}

struct pk_null_part pk_null_workspace_of(const struct pk_device *dev)
{
    pk_assert(dev->kind == PK_DEVICE_NULL);
    const struct null *n = dev->impl;
    return n->part;
}

struct pk_null_counts pk_null_work_counts(const struct pk_device *dev)
{
    pk_assert(dev->kind == PK_DEVICE_NULL);
    const struct null *n = dev->impl;
    return n->counted;
}

const struct pk_device_ops pk_device_null = {
    .kind = "null",
    .summary = "no arithmetic, fake clock: exact tests of the harness",
    .unavailable = available,
    .open = null_open,
    .close = null_close,
    .now_ns = now_ns,
    .sync = sync_nothing,
    .reserve = reserve,
    .release = release,
    .copy = copy,
    .delay = delay,
    .facts = facts,
};
