/* Cuda: the device vtable of an NVIDIA GPU. */
#include "device/cuda/cuda.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/text/words.h"
#include "device/cuda/parts.h"
#include "machine/bind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PK_CUDA_ENTRY(name) .name = name,
const struct pk_cuda_api pk_cuda_runtime = {PK_CUDA_CALLS(PK_CUDA_ENTRY)};

/* Which table devices use; tests exchange it. */
static const struct pk_cuda_api *api_in_use = &pk_cuda_runtime;

void pk_cuda_use(const struct pk_cuda_api *api)
{
    api_in_use = api ? api : &pk_cuda_runtime;
}

const struct pk_cuda_api *pk_cuda_api_of(const struct pk_device *dev)
{
    return pk_cuda_of(dev)->api;
}

struct CUstream_st *pk_cuda_stream(struct pk_device *dev, enum pk_lane lane)
{
    pk_assert(lane != PK_LANE_HOST);
    return pk_cuda_of(dev)->stream[lane];
}

const struct pk_cuda_traits *pk_cuda_traits(const struct pk_device *dev)
{
    return &pk_cuda_of(dev)->traits;
}

void *pk_cuda_user_state(struct pk_device *dev, size_t bytes, pk_cuda_end_fn *end)
{
    struct pk_cuda_state **at = &pk_cuda_of(dev)->beside;
    while (*at && (*at)->end != end)
        at = &(*at)->next;
    if (!*at) {
        *at = pk_new(&dev->arena, struct pk_cuda_state);
        **at = (struct pk_cuda_state){NULL, end, pk_alloc(&dev->arena, bytes)};
    }
    return (*at)->state;
}

static const char *cuda_unavailable(void)
{
    return pk_cuda_missing(api_in_use);
}

static enum pk_code choose_gpu(struct pk_device *dev, struct pk_cuda *c, unsigned local_rank,
                               struct pk_err *err)
{
    int n = 0;
    enum pk_code rc = pk_cuda_check(dev, c->api->cudaGetDeviceCount(&n), "counting GPUs", err);
    if (rc)
        return rc;
    if (local_rank && n)
        dev->ordinal = local_rank % (unsigned)n;
    if (dev->ordinal >= (unsigned)n) {
        pk_fail(err, PK_E_USAGE, "device cuda:%u does not exist", dev->ordinal);
        pk_why(err, "this machine has %s", pk_plural((size_t)n, "GPU", &dev->arena));
        return pk_fix(err, "--device cuda:0 to cuda:%d", n - 1);
    }
    rc = pk_cuda_check(dev, c->api->cudaSetDevice((int)dev->ordinal), "choosing the GPU", err);
    if (!rc)
        rc = pk_cuda_check(dev, c->api->cudaGetDeviceProperties(&c->properties, (int)dev->ordinal),
                           "reading its properties", err);
    if (rc)
        return rc;
    const struct cudaDeviceProp *p = &c->properties;
    c->traits = (struct pk_cuda_traits){.capability = 10 * p->major + p->minor,
                                        .multiprocessors = p->multiProcessorCount,
                                        .shared_bytes = p->sharedMemPerBlockOptin,
                                        .l2_bytes = (size_t)p->l2CacheSize};
    snprintf(c->traits.pci_id, sizeof c->traits.pci_id, "%08X:%02X:%02X.0", (unsigned)p->pciDomainID,
             (unsigned)p->pciBusID, (unsigned)p->pciDeviceID);
    memcpy(c->traits.name, p->name, sizeof c->traits.name);
    c->traits.name[sizeof c->traits.name - 1] = '\0';
    return PK_OK;
}

/* Binds the thread that launches work on the GPU, and its later threads, to the given CPUs, else to those nearest the GPU. */
static void bind_host(struct pk_cuda *c, const struct pk_device_options *opt, struct pk_arena *a)
{
    struct pk_cpus cpus;
    c->binding = "off";
    if (opt->no_bind ||
        !(opt->cpus ? pk_cpus_read(opt->cpus, &cpus) : pk_bind_near(c->traits.pci_id, NULL, &cpus)))
        return;
    if (pk_bind_thread(&cpus))
        c->binding = pk_printf(a, "cpus %s%s", pk_cpus_text(&cpus, a), opt->cpus ? "" : ", nearest the GPU");
}

/* Communication goes first where both want the chip. */
static enum pk_code make_lanes(struct pk_device *dev, struct pk_cuda *c, struct pk_err *err)
{
    int least = 0, greatest = 0;
    enum pk_code rc = pk_cuda_check(dev, c->api->cudaDeviceGetStreamPriorityRange(&least, &greatest),
                                    "reading stream priorities", err);
    for (int lane = 0; !rc && lane < PK_LANES; lane++)
        if (lane != PK_LANE_HOST)
            rc = pk_cuda_check(dev,
                               c->api->cudaStreamCreateWithPriority(&c->stream[lane], cudaStreamNonBlocking,
                                                                    lane == PK_LANE_COMM ? greatest : least),
                               "making a stream", err);
    return rc;
}

/* What is free now, less a twentieth for the context's own growth. */
static enum pk_code limit_pool(struct pk_device *dev, const struct pk_cuda *c,
                               const struct pk_device_options *opt, struct pk_err *err)
{
    size_t free_bytes = 0, total = 0;
    enum pk_code rc =
        pk_cuda_check(dev, c->api->cudaMemGetInfo(&free_bytes, &total), "reading free memory", err);
    if (!rc && !opt->limit_bytes)
        dev->pool.limit = free_bytes / 20 * 19;
    return rc;
}

static void cuda_close(struct pk_device *dev)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    c->api->cudaDeviceSynchronize();
    for (const struct pk_cuda_state *s = c->beside; s; s = s->next)
        s->end(dev, s->state);
    pk_cuda_events_free(c);
    if (c->anchor)
        c->api->cudaEventDestroy(c->anchor);
    for (struct pk_pin *pin = c->pins; pin; pin = pin->next)
        if (pin->p)
            c->api->cudaFreeHost(pin->p);
    if (c->l2_scratch)
        c->api->cudaFree(c->l2_scratch);
    for (int lane = 0; lane < PK_LANES; lane++)
        if (c->stream[lane])
            c->api->cudaStreamDestroy(c->stream[lane]);
}

/* Environment variables with which NVIDIA's libraries compute products in another way than requested. */
static const char *const overrides[] = {
    "NVIDIA_TF32_OVERRIDE",            /* 0: tf32 products are ieee ones */
    "CUBLAS_EMULATE_SINGLE_PRECISION", /* ieee products are made of nine of bf16, where the chip can */
};

/* Numerics are what an experiment's axes say: overrides are taken out of the environment, before a library reads them. Their names, for
 * people; NULL when there were none. */
static const char *forget_overrides(struct pk_arena *a)
{
    const char *found = NULL;
    for (size_t i = 0; i < sizeof overrides / sizeof *overrides; i++)
        if (getenv(overrides[i]) && unsetenv(overrides[i]) == 0)
            found = found ? pk_printf(a, "%s, %s", found, overrides[i]) : overrides[i];
    return found;
}

static const char *switch_overlap(struct pk_device *dev)
{
    const bool on = pk_switched_on("PERFKIT_DEPENDENT_LAUNCH");
    if (pk_cuda_overlap(dev, on))
        return "on";
    return on ? "refused: the kernels are not compiled for compute capability 9.0" : NULL;
}

static enum pk_code cuda_open(struct pk_device *dev, const struct pk_device_options *opt, struct pk_err *err)
{
    struct pk_cuda *c = pk_new(&dev->arena, struct pk_cuda);
    dev->impl = c;
    c->api = api_in_use;
    c->overrides = forget_overrides(&dev->arena);
    c->api->cudaDriverGetVersion(&c->driver_version);
    c->api->cudaRuntimeGetVersion(&c->runtime_version);
    enum pk_code rc = choose_gpu(dev, c, opt->local_rank, err);
    if (!rc)
        c->overlap = switch_overlap(dev);
    if (!rc)
        bind_host(c, opt, &dev->arena);
    if (!rc)
        rc = make_lanes(dev, c, err);
    if (!rc)
        rc = limit_pool(dev, c, opt, err);
    if (rc)
        cuda_close(dev);
    return rc;
}

static uint64_t cuda_now_ns(struct pk_device *dev)
{
    return pk_clock_ns();
}

static enum pk_code cuda_sync(struct pk_device *dev, struct pk_err *err)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    enum pk_code rc = PK_OK;
    for (int lane = 0; !rc && lane < PK_LANES; lane++)
        if (c->stream[lane])
            rc = pk_cuda_check(dev, c->api->cudaStreamSynchronize(c->stream[lane]), "waiting for its work",
                               err);
    return rc;
}

static void *cuda_reserve(struct pk_device *dev, size_t bytes)
{
    const struct pk_cuda *c = pk_cuda_of(dev);
    void *p = NULL;
    return pk_cuda_room(dev, c->api->cudaMalloc(&p, bytes), "taking memory") ? p : NULL;
}

static void cuda_release(struct pk_device *dev, void *p, size_t bytes)
{
    pk_cuda_of(dev)->api->cudaFree(p);
}

static enum pk_code cuda_copy(struct pk_device *dev, enum pk_lane lane, enum pk_copy dir, void *dst,
                              const void *src, size_t bytes, struct pk_err *err)
{
    static const enum cudaMemcpyKind kinds[] = {[PK_COPY_HOST_TO_DEVICE] = cudaMemcpyHostToDevice,
                                                [PK_COPY_DEVICE_TO_HOST] = cudaMemcpyDeviceToHost,
                                                [PK_COPY_ON_DEVICE] = cudaMemcpyDeviceToDevice};
    const struct pk_cuda *c = pk_cuda_of(dev);
    return pk_cuda_check(dev, c->api->cudaMemcpyAsync(dst, src, bytes, kinds[dir], c->stream[lane]),
                         "copying", err);
}

static enum pk_code cuda_profiler(struct pk_device *dev, bool on, struct pk_err *err)
{
    const struct pk_cuda_api *api = pk_cuda_of(dev)->api;
    return pk_cuda_check(dev, on ? api->cudaProfilerStart() : api->cudaProfilerStop(),
                         on ? "beginning the profiler's range" : "ending the profiler's range", err);
}

static bool cuda_broken(const struct pk_device *dev)
{
    return pk_cuda_of(dev)->sticky != cudaSuccess;
}

static const char *version_text(int version, struct pk_arena *a)
{
    return pk_printf(a, "%d.%d", version / 1000, version % 1000 / 10);
}

static void cuda_facts(struct pk_device *dev, pk_fact_fn *fn, void *user)
{
    const struct pk_cuda *c = pk_cuda_of(dev);
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    fn(user, "gpu", c->traits.name);
    fn(user, "compute_capability",
       pk_printf(&a, "%d.%d", c->traits.capability / 10, c->traits.capability % 10));
    fn(user, "multiprocessors", pk_printf(&a, "%d", c->traits.multiprocessors));
    fn(user, "l2_bytes", pk_printf(&a, "%zu", c->traits.l2_bytes));
    fn(user, "cuda_driver", version_text(c->driver_version, &a));
    fn(user, "cuda_runtime", version_text(c->runtime_version, &a));
    pk_data_sheet(c->traits.name, fn, user);
    fn(user, "binding", c->binding);
    fn(user, "limit_bytes", pk_printf(&a, "%zu", dev->pool.limit));
    if (c->overlap)
        fn(user, "dependent_launch", c->overlap);
    if (pk_switched_on("PERFKIT_FIVE_PRODUCTS")) {
        fn(user, "five_products", "on");
        fn(user, "five_products_warning",
           "with PERFKIT_FIVE_PRODUCTS=on the backward pass of flash attention in fp32 (33 to 128 features a "
           "head) "
           "adds dQ up in no fixed order: its last bits differ from run to run");
    }
    if (c->overrides)
        fn(user, "numerics_warning",
           pk_printf(&a, "%s would change how products are computed: it is ignored; dtype and math define it",
                     c->overrides));
}

const struct pk_device_ops pk_device_cuda = {
    .kind = "cuda",
    .summary = "an NVIDIA GPU",
    .unavailable = cuda_unavailable,
    .open = cuda_open,
    .close = cuda_close,
    .now_ns = cuda_now_ns,
    .sync = cuda_sync,
    .reserve = cuda_reserve,
    .release = cuda_release,
    .copy = cuda_copy,
    .record = pk_cuda_record,
    .elapsed_ns = pk_cuda_elapsed_ns,
    .delay = pk_cuda_delay,
    .flush = pk_cuda_flush_l2,
    .profiler = cuda_profiler,
    .graphs = &pk_cuda_graphs,
    .lanes = &pk_cuda_lanes,
    .broken = cuda_broken,
    .facts = cuda_facts,
};
