/* GPU trace: CUPTI's activity records, from buffers to rows. */
#include "counter/cuda/gpu_trace.h"

#include "base/err.h"
#include "base/index.h"
#include "counter/cuda/cupti.h"
#include "device/cuda/cuda.h"
#include "device/device.h"

#include <cupti_driver_cbid.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A kernel's record has 200 bytes or so, that of its launch 40: 64 MiB are 250 thousand kernels. */
enum { BUFFERS = 16, BUFFER_BYTES = 4 << 20 };

/* A larger change than slewing allows (500 ppm on Linux) means that the clock was set. */
enum { LOOKS = 8, STEP_NS = 1000000 };
static const double SLEW_MAX = 1e-3;

/* RUNTIME and the two launch functions of the driver give the launch time on the host. KERNEL would serialise; CONCURRENT_KERNEL does
 * not. */
static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                           CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
                                           CUPTI_ACTIVITY_KIND_RUNTIME};
static const CUpti_CallbackId launches[] = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                            CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx};
enum { KINDS = sizeof kinds / sizeof *kinds, LAUNCHES = sizeof launches / sizeof *launches };

struct buffer {
    uint8_t *bytes;
    size_t valid;
    atomic_int state; /* FREE, LENT, FULL */
};
enum { FREE, LENT, FULL };

struct call_time {
    uint32_t correlation;
    uint64_t ns;
};

/* CUPTI's clock is the system's, which is set and slewed: how far it is ahead of the device's, at a moment of the latter. */
struct offset {
    uint64_t at_ns;
    int64_t ahead_ns;
};

struct pk_gpu_trace {
    struct pk_device *dev;
    struct pk_arena *arena; /* of names */
    struct pk_trace *into;
    struct offset began, ended;
    struct call_time *calls;
    uint32_t *correlation; /* of each row */
    size_t n_records, n_calls, cap_calls;
    struct pk_index symbols;
    struct kernel_name {
        const char *symbol, *name;
        enum pk_kernel_family family;
    } * names;
    size_t n_names, cap_names;
};

/* CUPTI's callbacks have no place for a user: one session and one open trace of this process. */
static struct trace_session {
    struct pk_arena arena;
    const struct pk_cupti *c;
    CUpti_SubscriberHandle subscriber;
    bool subscribed, on, overheads;
    struct buffer buffers[BUFFERS];
} session;
static struct pk_gpu_trace *_Atomic the_trace;

/* From a thread of CUPTI's. No buffer left: it drops records and counts them. */
static void CUPTIAPI lend(uint8_t **bytes, size_t *size, size_t *most_records)
{
    *bytes = NULL;
    *size = *most_records = 0;
    for (size_t i = 0; i < BUFFERS; i++) {
        int free_ = FREE;
        if (atomic_compare_exchange_strong(&session.buffers[i].state, &free_, LENT)) {
            *bytes = session.buffers[i].bytes;
            *size = BUFFER_BYTES;
            return;
        }
    }
}

/* Between two traces buffers are not read: the 16 bytes that a record of a full command buffer owns stay allocated then. */
static void CUPTIAPI take_back(CUcontext ctx, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
    for (size_t i = 0; i < BUFFERS; i++)
        if (session.buffers[i].bytes == bytes) {
            session.buffers[i].valid = valid;
            atomic_store(&session.buffers[i].state, valid && the_trace ? FULL : FREE);
        }
}

/* cuptiSubscribe requires a callback; it does nothing. */
static void CUPTIAPI no_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void *data)
{
}

void pk_gpu_trace_end(void)
{
    struct trace_session *s = &session;
    pk_assert(!the_trace);
    for (size_t i = 0; s->on && i < KINDS; i++)
        s->c->cuptiActivityDisable(kinds[i]);
    for (size_t i = 0; s->on && i < LAUNCHES; i++)
        s->c->cuptiActivityEnableDriverApi(launches[i], 0);
    if (s->overheads)
        s->c->cuptiActivityDisable(CUPTI_ACTIVITY_KIND_OVERHEAD);
    if (s->on)
        s->c->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    if (s->subscribed) {
        s->c->cuptiUnsubscribe(s->subscriber);
        s->c->cuptiFinalize();
    }
    pk_arena_free(&s->arena);
    *s = (struct trace_session){0};
}

/* Once: see the header. */
static enum pk_code begin_session(const struct pk_counter_env *env, struct pk_err *err)
{
    struct trace_session *s = &session;
    CUcontext ctx;
    if (s->on)
        return PK_OK;
    if (pk_cupti_open(env, &s->arena, &s->c, err) || pk_cupti_context(s->c, &ctx, err))
        return err->code;
    for (size_t i = 0; i < BUFFERS; i++)
        s->buffers[i].bytes = pk_alloc(&s->arena, BUFFER_BYTES);
    const struct pk_cupti *c = s->c;
    enum pk_code rc =
        pk_cupti_check(c, c->cuptiSubscribe(&s->subscriber, no_callback, NULL), "tracing the GPU", err);
    s->subscribed = !rc;
    if (rc || (rc = pk_cupti_check(c, c->cuptiActivityRegisterCallbacks(lend, take_back), "giving it buffers",
                                   err)))
        return rc;
    for (size_t i = 0; !rc && i < KINDS; i++)
        rc = pk_cupti_check(c, c->cuptiActivityEnable(kinds[i]), "tracing the GPU", err);
    for (size_t i = 0; !rc && i < LAUNCHES; i++)
        rc = pk_cupti_check(c, c->cuptiActivityEnableDriverApi(launches[i], 1), "tracing the GPU", err);
    s->on = !rc;
    /* A trace without them is still one. */
    s->overheads = s->on && !c->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD);
    return rc;
}

enum pk_code pk_gpu_trace_open(const struct pk_counter_env *env, struct pk_device *dev, struct pk_trace *into,
                               struct pk_arena *a, struct pk_gpu_trace **out, struct pk_err *err)
{
    struct pk_gpu_trace *t = pk_new(a, struct pk_gpu_trace), *none = NULL;
    *out = NULL;
    pk_assert(dev->kind == PK_DEVICE_CUDA);
    t->dev = dev;
    t->arena = a;
    t->into = into;
    t->symbols.arena = a;
    t->cap_calls = 2 * into->cap;
    t->calls = pk_new_n(a, struct call_time, t->cap_calls);
    t->correlation = pk_new_n(a, uint32_t, into->cap);
    if (!atomic_compare_exchange_strong(&the_trace, &none, t)) {
        pk_fail(err, PK_E_UNAVAILABLE, "the GPU cannot be traced twice");
        pk_why(err, "this process already has an open trace, and CUPTI allows one");
        return pk_fix(err, "close it first");
    }
    const enum pk_code rc = begin_session(env, err);
    if (!rc) {
        *out = t;
        return PK_OK;
    }
    the_trace = NULL;
    pk_gpu_trace_end();
    return rc;
}

static void give_back_all(void)
{
    for (size_t i = 0; i < BUFFERS; i++) {
        int full = FULL;
        atomic_compare_exchange_strong(&session.buffers[i].state, &full, FREE);
    }
}

/* Records that nobody wants, with what they own. */
static void drop_all(void)
{
    for (size_t i = 0; i < BUFFERS; i++) {
        const struct buffer *b = &session.buffers[i];
        CUpti_Activity *r = NULL;
        if (atomic_load(&b->state) == FULL)
            while (!session.c->cuptiActivityGetNextRecord(b->bytes, b->valid, &r))
                if (r->kind == CUPTI_ACTIVITY_KIND_OVERHEAD)
                    pk_gpu_overhead_free(r);
    }
    give_back_all();
}

void pk_gpu_trace_close(struct pk_gpu_trace *t)
{
    the_trace = NULL;
    drop_all();
}

/* Forced: a flush without it keeps a buffer with one record that is not complete. */
static enum pk_code flush(const char *what, size_t *dropped, struct pk_err *err)
{
    const struct pk_cupti *c = session.c;
    const enum pk_code rc =
        pk_cupti_check(c, c->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), what, err);
    return rc ? rc
              : pk_cupti_check(c, c->cuptiActivityGetNumDroppedRecords(NULL, 0, dropped),
                               "reading the number of dropped records", err);
}

/* The closest of a few looks at both clocks. */
static enum pk_code compare_clocks(struct pk_gpu_trace *t, struct offset *out, struct pk_err *err)
{
    uint64_t closest = UINT64_MAX;
    for (int i = 0; i < LOOKS; i++) {
        uint64_t cupti_ns;
        const uint64_t before = pk_device_now_ns(t->dev);
        if (pk_cupti_check(session.c, session.c->cuptiGetTimestamp(&cupti_ns), "reading its clock", err))
            return err->code;
        const uint64_t took = pk_device_now_ns(t->dev) - before, middle = before + took / 2;
        if (took < closest)
            *out = (struct offset){middle, (int64_t)(cupti_ns - middle)};
        closest = took < closest ? took : closest;
    }
    return PK_OK;
}

enum pk_code pk_gpu_trace_start(struct pk_gpu_trace *t, struct pk_err *err)
{
    size_t dropped; /* of what came before: forgotten */
    if (pk_device_sync(t->dev, err) || flush("emptying the trace", &dropped, err))
        return err->code;
    drop_all();
    t->n_calls = t->n_records = 0;
    memset(t->into->overhead, 0, sizeof t->into->overhead);
    return compare_clocks(t, &t->began, err);
}

static uint64_t cupti_ns(const struct offset *at)
{
    return at->at_ns + (uint64_t)at->ahead_ns;
}

/* By the device's clock: slewing in the iteration is taken to be even. */
static uint64_t device_ns(const struct pk_gpu_trace *t, uint64_t cupti_ns)
{
    const struct offset *b = &t->began, *e = &t->ended;
    const double elapsed = (double)(e->at_ns - b->at_ns);
    const double at = (double)((int64_t)cupti_ns - b->ahead_ns) - (double)b->at_ns;
    const double share = elapsed > 0 ? fmin(fmax(at / elapsed, 0), 1) : 0;
    return cupti_ns - (uint64_t)(b->ahead_ns + llround(share * (double)(e->ahead_ns - b->ahead_ns)));
}

/* A new row, or NULL where there is no room for one, or CUPTI does not know when it ran. */
static struct pk_kernel *row(struct pk_gpu_trace *t, uint32_t correlation, uint32_t stream, uint64_t start,
                             uint64_t end)
{
    struct pk_trace *into = t->into;
    if (into->n == into->cap || !start || !end) {
        into->dropped++;
        return NULL;
    }
    t->correlation[into->n] = correlation;
    into->v[into->n] = (struct pk_kernel){
        .region = PK_NO_REGION, .lane = stream, .begin_ns = device_ns(t, start), .end_ns = device_ns(t, end)};
    return &into->v[into->n++];
}

struct symbol_key {
    const struct pk_gpu_trace *t;
    const char *symbol;
};

static bool same_symbol(const void *wanted, uint32_t at)
{
    const struct symbol_key *w = wanted;
    return !strcmp(w->t->names[at].symbol, w->symbol);
}

/* CUPTI's own text ends with CUPTI. */
static const struct kernel_name *name_of(struct pk_gpu_trace *t, const char *symbol)
{
    const struct symbol_key w = {t, symbol};
    const uint32_t at = pk_index_row(&t->symbols, pk_hash_bytes(0, symbol, strlen(symbol)), same_symbol, &w,
                                     (uint32_t)t->n_names);
    if (at == t->n_names) {
        t->names = pk_grow(t->arena, t->names, sizeof *t->names, t->n_names, &t->cap_names);
        t->names[t->n_names++] = (struct kernel_name){
            pk_strdup(t->arena, symbol), pk_kernel_name(symbol, t->arena), pk_kernel_family_of(symbol)};
    }
    return &t->names[at];
}

static struct pk_kernel_needs needs_of(const struct pk_device *dev, const CUpti_ActivityKernel10 *r)
{
    const struct pk_cuda_needs of_block = {(unsigned)(r->blockX * r->blockY * r->blockZ),
                                           r->registersPerThread, (size_t)r->staticSharedMemory,
                                           (size_t)r->dynamicSharedMemory};
    struct pk_kernel_needs n = {.registers = r->registersPerThread,
                                .static_bytes = (uint32_t)r->staticSharedMemory,
                                .dynamic_bytes = (uint32_t)r->dynamicSharedMemory,
                                .local_bytes = r->localMemoryPerThread};
    n.occupancy = pk_cuda_occupancy(dev, &of_block, &n.limited_by);
    return n;
}

static void add_kernel(struct pk_gpu_trace *t, const CUpti_ActivityKernel10 *r)
{
    const struct kernel_name *who = name_of(t, r->name ? r->name : "a kernel without a name");
    struct pk_kernel *k = row(t, r->correlationId, r->streamId, r->start, r->end);
    if (!k)
        return;
    k->name = who->name;
    k->family = who->family;
    k->grid[0] = (uint32_t)r->gridX;
    k->grid[1] = (uint32_t)r->gridY;
    k->grid[2] = (uint32_t)r->gridZ;
    k->block[0] = (uint32_t)r->blockX;
    k->block[1] = (uint32_t)r->blockY;
    k->block[2] = (uint32_t)r->blockZ;
    k->needs = needs_of(t->dev, r);
}

/* Of the three records of copies and fills. */
#define ADD_COPY(t, r, name)                                                                                 \
    add_copy(row(t, (r)->correlationId, (r)->streamId, (r)->start, (r)->end), name, (r)->bytes)

static void add_copy(struct pk_kernel *k, const char *name, uint64_t bytes)
{
    if (!k)
        return;
    k->name = name;
    k->family = PK_FAMILY_COPY;
    k->copied_bytes = (int64_t)bytes;
}

static const char *copy_name(uint8_t kind)
{
    static const char *const names[] = {[CUPTI_ACTIVITY_MEMCPY_KIND_HTOD] = "copy host to device",
                                        [CUPTI_ACTIVITY_MEMCPY_KIND_DTOH] = "copy device to host",
                                        [CUPTI_ACTIVITY_MEMCPY_KIND_DTOD] = "copy on device"};
    return kind < sizeof names / sizeof *names && names[kind] ? names[kind] : "copy";
}

static void add_record(struct pk_gpu_trace *t, const CUpti_Activity *r)
{
    const CUpti_ActivityMemcpy6 *copy = (const void *)r;
    const CUpti_ActivityMemcpyPtoP4 *peer = (const void *)r;
    const CUpti_ActivityMemset4 *fill = (const void *)r;
    const CUpti_ActivityAPI *call = (const void *)r;
    t->n_records++;
    switch ((int)r->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        add_kernel(t, (const void *)r);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        ADD_COPY(t, copy, copy_name(copy->copyKind));
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        ADD_COPY(t, peer, "copy between devices");
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        ADD_COPY(t, fill, "fill");
        break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
        /* A record of the host: the launch time of the kernel with the same correlation number. Without it a kernel has no region. */
        if (t->n_calls == t->cap_calls)
            t->into->dropped++;
        else
            t->calls[t->n_calls++] = (struct call_time){call->correlationId, device_ns(t, call->start)};
        break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        pk_gpu_overhead_add(t->into, r, cupti_ns(&t->began), cupti_ns(&t->ended));
        break;
    default:
        break;
    }
}

static int by_correlation(const void *a, const void *b)
{
    const struct call_time *x = a, *y = b;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

enum pk_code pk_gpu_trace_stop(struct pk_gpu_trace *t, struct pk_err *err)
{
    size_t dropped = 0;
    if (compare_clocks(t, &t->ended, err) || flush("fetching the trace", &dropped, err))
        return err->code;
    const int64_t stepped = t->ended.ahead_ns - t->began.ahead_ns;
    if ((double)llabs(stepped) > STEP_NS + SLEW_MAX * (double)(t->ended.at_ns - t->began.at_ns)) {
        pk_fail(err, PK_E_INTERNAL, "the system's clock was set while the GPU was traced");
        pk_why(err, "it moved by %.3f ms, and CUPTI's times use it", (double)stepped * 1e-6);
        return pk_fix(err, "run it again");
    }
    for (size_t i = 0; i < BUFFERS; i++) {
        const struct buffer *b = &session.buffers[i];
        CUpti_Activity *r = NULL;
        if (atomic_load(&b->state) == FULL)
            while (!session.c->cuptiActivityGetNextRecord(b->bytes, b->valid, &r))
                add_record(t, r);
    }
    give_back_all();
    t->into->dropped += dropped;
    if (!t->n_records && !dropped) { /* waiting for the device is a record, too: there is always one */
        pk_fail(err, PK_E_UNAVAILABLE, "the GPU's trace is empty");
        pk_why(err, "CUPTI returned no record of the iteration, not even of the calls that wait for the GPU");
        return pk_fix(err, "run perfkit doctor --require gpu-trace; end other profilers of this process");
    }
    qsort(t->calls, t->n_calls, sizeof *t->calls, by_correlation);
    for (size_t i = 0; i < t->into->n; i++) {
        const struct call_time key = {t->correlation[i], 0};
        const struct call_time *found = bsearch(&key, t->calls, t->n_calls, sizeof key, by_correlation);
        t->into->v[i].launched_ns = found ? found->ns : 0;
    }
    return PK_OK;
}
