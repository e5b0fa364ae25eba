/* Kinds: the devices that exist, opening one, and the wrappers around its hooks. */
#include "device/device.h"

#include "base/build.h"
#include "base/err.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "build_config.h"
#include "device/cpu/cpu.h"
#include "device/null.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PK_HAVE_CUDA
#include "device/cuda/cuda.h"
#else
static const char *without_cuda(void)
{
    return pk_feature("cuda")->unavailable;
}

static const struct pk_device_ops pk_device_cuda = {
    .kind = "cuda", .summary = "an NVIDIA GPU", .unavailable = without_cuda};
#endif

const struct pk_device_ops *const pk_device_kinds[] = {
    [PK_DEVICE_CPU] = &pk_device_cpu,
    [PK_DEVICE_NULL] = &pk_device_null,
    [PK_DEVICE_CUDA] = &pk_device_cuda,
    [PK_DEVICE_KINDS] = NULL,
};

static enum pk_code unknown_device(const char *name, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *names[PK_DEVICE_KINDS];
    for (size_t i = 0; i < PK_DEVICE_KINDS; i++)
        names[i] = pk_device_kinds[i]->kind;
    pk_fail(err, PK_E_USAGE, "device '%s' is not known", name);
    pk_why(err, "devices are %s", pk_list(names, PK_DEVICE_KINDS, ", ", &a));
    const char *near = pk_suggest(name, names, PK_DEVICE_KINDS);
    return near ? pk_fix(err, "did you mean '%s'?", near)
                : pk_fix(err, "perfkit list devices shows which devices work here");
}

/* "GPU-8f3a10c2-...", of which CUDA takes the beginning, "MIG-..." and, of old drivers, "MIG-GPU-.../1/0". */
static bool is_uuid(const char *text)
{
    const bool mig = strncmp(text, "MIG-", 4) == 0;
    if (!mig && strncmp(text, "GPU-", 4) != 0)
        return false;
    text += mig && strncmp(text + 4, "GPU-", 4) == 0 ? 8 : 4;
    const size_t hex = strspn(text, "0123456789abcdefABCDEF-");
    return hex > 0 && hex < 64 && text[hex + strspn(text + hex, "/0123456789")] == '\0' &&
           (mig || !text[hex]);
}

/* "", ":N" or ":UUID" after the kind's name. */
static bool parse_ordinal(const char *rest, enum pk_device_kind kind, unsigned *ordinal)
{
    *ordinal = 0;
    if (*rest == '\0')
        return true;
    if (kind == PK_DEVICE_CUDA && *rest == ':' && is_uuid(rest + 1))
        return setenv("CUDA_VISIBLE_DEVICES", rest + 1, 1) == 0;
    size_t digits = strspn(rest + 1, "0123456789");
    return *rest == ':' && digits > 0 && digits < 6 && rest[1 + digits] == '\0' &&
           sscanf(rest + 1, "%u", ordinal) == 1;
}

enum pk_code pk_device_parse(const char *name, enum pk_device_kind *kind, unsigned *ordinal,
                             struct pk_err *err)
{
    for (unsigned k = 0; k < PK_DEVICE_KINDS; k++) {
        size_t n = strlen(pk_device_kinds[k]->kind);
        if (strncmp(name, pk_device_kinds[k]->kind, n) != 0 || !parse_ordinal(name + n, k, ordinal))
            continue;
        *kind = (enum pk_device_kind)k;
        if (*ordinal == 0 || k == PK_DEVICE_CUDA)
            return PK_OK;
        pk_fail(err, PK_E_USAGE, "device '%s' does not exist", name);
        pk_why(err, "there is one '%s' device", pk_device_kinds[k]->kind);
        return pk_fix(err, "call it '%s'", pk_device_kinds[k]->kind);
    }
    return unknown_device(name, err);
}

const char *pk_device_unavailable(enum pk_device_kind kind)
{
    pk_assert(kind < PK_DEVICE_KINDS);
    return pk_device_kinds[kind]->unavailable();
}

enum pk_code pk_device_open(struct pk_device *dev, const char *name, const struct pk_device_options *opt,
                            struct pk_err *err)
{
    *dev = (struct pk_device){0};
    enum pk_code rc = pk_device_parse(name, &dev->kind, &dev->ordinal, err);
    if (rc)
        return rc;
    const char *reason = pk_device_unavailable(dev->kind);
    if (reason) {
        pk_fail(err, PK_E_UNAVAILABLE, "device '%s' cannot be used", name);
        pk_why(err, "%s", reason);
        return pk_fix(err, "perfkit list devices shows which devices work here");
    }
    const struct pk_device_ops *o = dev->ops = pk_device_kinds[dev->kind];
    pk_assert(o->kind && o->summary && o->unavailable && o->open && o->close && o->now_ns && o->sync);
    pk_assert(o->reserve && o->release && o->copy && !o->record == !o->elapsed_ns);
    dev->cold = opt->cold;
    pk_pool_init(&dev->pool, dev, (size_t)opt->limit_bytes);
    pk_marks_init(&dev->marks, &dev->arena, PK_MARKS_DEFAULT, dev->ops->record != NULL);
    rc = dev->ops->open(dev, opt, err);
    if (rc)
        pk_arena_free(&dev->arena);
    return rc;
}

void pk_device_close(struct pk_device *dev)
{
    pk_assert(dev->pool.current == 0);
    pk_pool_trim(&dev->pool);
    dev->ops->close(dev);
    pk_arena_free(&dev->arena);
}

uint64_t pk_device_now_ns(struct pk_device *dev)
{
    return dev->ops->now_ns(dev);
}

enum pk_code pk_device_sync(struct pk_device *dev, struct pk_err *err)
{
    return dev->ops->sync(dev, err);
}

enum pk_code pk_device_copy(struct pk_device *dev, enum pk_lane lane, enum pk_copy dir, void *dst,
                            const void *src, size_t bytes, struct pk_err *err)
{
    pk_assert(lane < PK_LANE_HOST && (bytes == 0 || (dst && src)));
    if (!dev->trace)
        return dev->ops->copy(dev, lane, dir, dst, src, bytes, err);
    const uint64_t begin_ns = dev->ops->now_ns(dev);
    const enum pk_code rc = dev->ops->copy(dev, lane, dir, dst, src, bytes, err);
    if (!rc)
        pk_trace_add(dev, "copy", PK_FAMILY_COPY, begin_ns,
                     (struct pk_declared){.bytes = pk_device_copy_declares(dir, bytes)});
    return rc;
}

enum pk_code pk_device_copy_now(struct pk_device *dev, enum pk_copy dir, void *dst, const void *src,
                                size_t bytes, struct pk_err *err)
{
    enum pk_code rc = pk_device_copy(dev, PK_LANE_COMPUTE, dir, dst, src, bytes, err);
    return rc ? rc : pk_device_sync(dev, err);
}

double pk_device_copy_declares(enum pk_copy dir, size_t bytes)
{
    return dir == PK_COPY_ON_DEVICE ? 2 * (double)bytes : (double)bytes;
}

enum pk_code pk_device_flush(struct pk_device *dev, struct pk_err *err)
{
    enum pk_code rc = dev->ops->flush ? dev->ops->flush(dev, err) : PK_OK;
    return rc ? rc : dev->ops->sync(dev, err);
}

enum pk_code pk_device_profiler(struct pk_device *dev, bool on, struct pk_err *err)
{
    return dev->ops->profiler ? dev->ops->profiler(dev, on, err) : PK_OK;
}

void pk_device_delay(struct pk_device *dev, enum pk_lane lane, uint64_t ns)
{
    pk_assert(lane < PK_LANE_HOST);
    if (dev->ops->delay) {
        dev->ops->delay(dev, lane, ns);
        return;
    }
    uint64_t until = dev->ops->now_ns(dev) + ns;
    while (dev->ops->now_ns(dev) < until) {
    }
}

void pk_device_facts(struct pk_device *dev, pk_fact_fn *fn, void *user)
{
    if (dev->ops->facts)
        dev->ops->facts(dev, fn, user);
    if (dev->cold)
        fn(user, "caches", "emptied before every sample");
}

bool pk_device_broken(const struct pk_device *dev)
{
    return dev->ops->broken && dev->ops->broken(dev);
}

void *pk_device_alloc(struct pk_device *dev, size_t bytes, enum pk_tag tag)
{
    return pk_pool_alloc(&dev->pool, bytes, tag);
}

void pk_device_free(struct pk_device *dev, void *p)
{
    pk_pool_free(&dev->pool, p);
}

enum pk_code pk_device_oom(struct pk_device *dev, struct pk_err *err)
{
    const struct pk_pool *p = &dev->pool;
    char requested[32], used[32], limit[32];
    if (pk_device_broken(dev))
        return dev->ops->sync(dev, err);
    if (dev->capturing) {
        pk_fail(err, PK_E_INTERNAL, "captured work allocates new memory");
        pk_why(err, "%s more than when it ran before, and memory cannot be allocated during a capture",
               pk_format_bytes((int64_t)p->refused_bytes, requested, sizeof requested));
        return pk_fix(err, "this is a bug of the operation: it must allocate the same memory each time");
    }
    pk_fail(err, PK_E_OOM, "no room for %s more on device %s",
            pk_format_bytes((int64_t)p->refused_bytes, requested, sizeof requested), dev->ops->kind);
    if (p->limit == SIZE_MAX)
        pk_why(err, "%s are in use and the device has no more",
               pk_format_bytes((int64_t)p->current, used, sizeof used));
    else
        pk_why(err, "%s of %s are in use", pk_format_bytes((int64_t)p->current, used, sizeof used),
               pk_format_bytes((int64_t)p->limit, limit, sizeof limit));
    return pk_fix(err, "choose smaller sizes or a higher memory limit");
}
