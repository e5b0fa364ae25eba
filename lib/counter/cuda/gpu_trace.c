/* GPU trace: CUPTI's activity records, from buffers to rows. */
#include "counter/cuda/gpu_trace.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/index.h"
#include "counter/cuda/cupti.h"
#include "counter/cuda/kernel_names.h"
#include "device/device.h"

#include <cupti_driver_cbid.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A kernel's record has 200 bytes or so, that of its launch 40: 64 MiB are 250 thousand kernels. */
enum { BUFFERS = 16, BUFFER_BYTES = 4 << 20 };

/* RUNTIME and the two launches of the driver's say when the host asked. KERNEL would serialise; CONCURRENT_KERNEL does not. */
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

struct asked {
    uint32_t correlation;
    uint64_t ns;
};

struct pk_gpu_trace {
    const struct pk_cupti *c;
    struct pk_arena *arena; /* of names */
    struct pk_trace *into;
    CUpti_SubscriberHandle subscriber;
    bool subscribed, on;
    struct buffer buffers[BUFFERS];
    struct asked *asked;
    uint32_t *correlation; /* of each row */
    size_t n_asked, cap_asked;
    struct pk_index symbols;
    struct known {
        const char *symbol, *name;
        enum pk_kernel_family family;
    } * known;
    size_t n_known, cap_known;
};

/* CUPTI's callbacks have no place for a user: the one trace of this process. */
static struct pk_gpu_trace *_Atomic the_trace;

static uint64_t CUPTIAPI timestamp(void)
{
    return pk_clock_ns();
}

/* From a thread of CUPTI's. No buffer left: it drops records and counts them. */
static void CUPTIAPI lend(uint8_t **bytes, size_t *size, size_t *most_records)
{
    struct pk_gpu_trace *t = the_trace;
    *bytes = NULL;
    *size = *most_records = 0;
    for (size_t i = 0; t && i < BUFFERS; i++) {
        int free_ = FREE;
        if (atomic_compare_exchange_strong(&t->buffers[i].state, &free_, LENT)) {
            *bytes = t->buffers[i].bytes;
            *size = BUFFER_BYTES;
            return;
        }
    }
}

static void CUPTIAPI take_back(CUcontext ctx, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
    struct pk_gpu_trace *t = the_trace;
    for (size_t i = 0; t && i < BUFFERS; i++)
        if (t->buffers[i].bytes == bytes) {
            t->buffers[i].valid = valid;
            atomic_store(&t->buffers[i].state, valid ? FULL : FREE);
        }
}

/* subscribe needs one; nothing is asked of it. */
static void CUPTIAPI no_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void *data)
{
}

static enum pk_code enable(struct pk_gpu_trace *t, struct pk_err *err)
{
    const struct pk_cupti *c = t->c;
    enum pk_code rc =
        pk_cupti_check(c, c->cuptiSubscribe(&t->subscriber, no_callback, NULL), "tracing the GPU", err);
    t->subscribed = !rc;
    if (rc ||
        (rc = pk_cupti_check(c, c->cuptiActivityRegisterTimestampCallback(timestamp), "giving it our clock",
                             err)) ||
        (rc =
             pk_cupti_check(c, c->cuptiActivityRegisterCallbacks(lend, take_back), "giving it buffers", err)))
        return rc;
    for (size_t i = 0; !rc && i < KINDS; i++)
        rc = pk_cupti_check(c, c->cuptiActivityEnable(kinds[i]), "tracing the GPU", err);
    for (size_t i = 0; !rc && i < LAUNCHES; i++)
        rc = pk_cupti_check(c, c->cuptiActivityEnableDriverApi(launches[i], 1), "tracing the GPU", err);
    t->on = !rc;
    return rc;
}

static enum pk_code taken(struct pk_err *err)
{
    pk_fail(err, PK_E_UNAVAILABLE, "the GPU cannot be traced twice");
    pk_why(err, "another trace of this process is open, and CUPTI takes one");
    return pk_fix(err, "close it first");
}

enum pk_code pk_gpu_trace_open(const struct pk_counter_env *env, struct pk_device *dev, struct pk_trace *into,
                               struct pk_arena *a, struct pk_gpu_trace **out, struct pk_err *err)
{
    struct pk_gpu_trace *t = pk_new(a, struct pk_gpu_trace), *none = NULL;
    CUcontext ctx;
    *out = NULL;
    pk_assert(dev->kind == PK_DEVICE_CUDA);
    t->arena = a;
    t->into = into;
    t->symbols.arena = a;
    if (pk_cupti_open(env, a, &t->c, err) || pk_cupti_context(t->c, &ctx, err))
        return err->code;
    for (size_t i = 0; i < BUFFERS; i++)
        t->buffers[i].bytes = pk_alloc(a, BUFFER_BYTES);
    t->cap_asked = 2 * into->cap;
    t->asked = pk_new_n(a, struct asked, t->cap_asked);
    t->correlation = pk_new_n(a, uint32_t, into->cap);
    if (!atomic_compare_exchange_strong(&the_trace, &none, t))
        return taken(err);
    const enum pk_code rc = enable(t, err);
    if (rc)
        pk_gpu_trace_close(t);
    else
        *out = t;
    return rc;
}

void pk_gpu_trace_close(struct pk_gpu_trace *t)
{
    const struct pk_cupti *c = t->c;
    for (size_t i = 0; t->on && i < KINDS; i++)
        c->cuptiActivityDisable(kinds[i]);
    for (size_t i = 0; t->on && i < LAUNCHES; i++)
        c->cuptiActivityEnableDriverApi(launches[i], 0);
    if (t->on)
        c->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    if (t->subscribed) {
        c->cuptiUnsubscribe(t->subscriber);
        c->cuptiFinalize();
    }
    t->on = t->subscribed = false;
    the_trace = NULL;
}

static void give_back_all(struct pk_gpu_trace *t)
{
    for (size_t i = 0; i < BUFFERS; i++)
        if (atomic_load(&t->buffers[i].state) == FULL)
            atomic_store(&t->buffers[i].state, FREE);
}

enum pk_code pk_gpu_trace_start(struct pk_gpu_trace *t, struct pk_err *err)
{
    size_t dropped;
    const enum pk_code rc = pk_cupti_check(t->c, t->c->cuptiActivityFlushAll(0), "emptying the trace", err);
    t->c->cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped); /* of what came before: forgotten */
    give_back_all(t);
    t->n_asked = 0;
    return rc;
}

/* A new row, or NULL where there is no room for one. */
static struct pk_kernel *row(struct pk_gpu_trace *t, uint32_t correlation)
{
    struct pk_trace *into = t->into;
    if (into->n == into->cap) {
        into->dropped++;
        return NULL;
    }
    t->correlation[into->n] = correlation;
    into->v[into->n] = (struct pk_kernel){.region = PK_NO_REGION};
    return &into->v[into->n++];
}

struct wanted {
    const struct pk_gpu_trace *t;
    const char *symbol;
};

static bool same_symbol(const void *wanted, uint32_t at)
{
    const struct wanted *w = wanted;
    return !strcmp(w->t->known[at].symbol, w->symbol);
}

/* CUPTI's own text ends with CUPTI. */
static const struct known *known(struct pk_gpu_trace *t, const char *symbol)
{
    const struct wanted w = {t, symbol};
    const uint32_t at = pk_index_row(&t->symbols, pk_hash_bytes(0, symbol, strlen(symbol)), same_symbol, &w,
                                     (uint32_t)t->n_known);
    if (at == t->n_known) {
        if (t->n_known == t->cap_known)
            t->known = pk_grow(t->arena, t->known, sizeof *t->known, t->n_known, &t->cap_known);
        t->known[t->n_known++] = (struct known){pk_strdup(t->arena, symbol), pk_kernel_name(symbol, t->arena),
                                                pk_kernel_family_of(symbol)};
    }
    return &t->known[at];
}

static void add_kernel(struct pk_gpu_trace *t, const CUpti_ActivityKernel10 *r)
{
    const struct known *who = known(t, r->name ? r->name : "a kernel without a name");
    struct pk_kernel *k = row(t, r->correlationId);
    if (!k)
        return;
    k->name = who->name;
    k->family = who->family;
    k->lane = r->streamId;
    k->begin_ns = r->start;
    k->end_ns = r->end;
    k->grid[0] = (uint32_t)r->gridX;
    k->grid[1] = (uint32_t)r->gridY;
    k->grid[2] = (uint32_t)r->gridZ;
    k->block[0] = (uint32_t)r->blockX;
    k->block[1] = (uint32_t)r->blockY;
    k->block[2] = (uint32_t)r->blockZ;
}

static void add_copy(struct pk_gpu_trace *t, const CUpti_ActivityMemcpy6 *r)
{
    static const char *const names[] = {[CUPTI_ACTIVITY_MEMCPY_KIND_HTOD] = "copy host to device",
                                        [CUPTI_ACTIVITY_MEMCPY_KIND_DTOH] = "copy device to host",
                                        [CUPTI_ACTIVITY_MEMCPY_KIND_DTOD] = "copy on device"};
    struct pk_kernel *k = row(t, r->correlationId);
    if (!k)
        return;
    k->name = r->copyKind < sizeof names / sizeof *names && names[r->copyKind] ? names[r->copyKind] : "copy";
    k->family = PK_FAMILY_COPY;
    k->lane = r->streamId;
    k->begin_ns = r->start;
    k->end_ns = r->end;
    k->copied_bytes = (int64_t)r->bytes;
}

static void add_peer_copy(struct pk_gpu_trace *t, const CUpti_ActivityMemcpyPtoP4 *r)
{
    struct pk_kernel *k = row(t, r->correlationId);
    if (!k)
        return;
    k->name = "copy between devices";
    k->family = PK_FAMILY_COPY;
    k->lane = r->streamId;
    k->begin_ns = r->start;
    k->end_ns = r->end;
    k->copied_bytes = (int64_t)r->bytes;
}

static void add_fill(struct pk_gpu_trace *t, const CUpti_ActivityMemset4 *r)
{
    struct pk_kernel *k = row(t, r->correlationId);
    if (!k)
        return;
    k->name = "fill";
    k->family = PK_FAMILY_COPY;
    k->lane = r->streamId;
    k->begin_ns = r->start;
    k->end_ns = r->end;
    k->copied_bytes = (int64_t)r->bytes;
}

/* A call of the host's: when it asked for what has the same correlation. Without it a kernel has no region. */
static void add_asked(struct pk_gpu_trace *t, const CUpti_ActivityAPI *r)
{
    if (t->n_asked == t->cap_asked)
        t->into->dropped++;
    else
        t->asked[t->n_asked++] = (struct asked){r->correlationId, r->start};
}

static void add_record(struct pk_gpu_trace *t, const CUpti_Activity *r)
{
    switch ((int)r->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        add_kernel(t, (const void *)r);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        add_copy(t, (const void *)r);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        add_peer_copy(t, (const void *)r);
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        add_fill(t, (const void *)r);
        break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
        add_asked(t, (const void *)r);
        break;
    default:
        break;
    }
}

static int by_correlation(const void *a, const void *b)
{
    const struct asked *x = a, *y = b;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static void join(struct pk_gpu_trace *t)
{
    qsort(t->asked, t->n_asked, sizeof *t->asked, by_correlation);
    for (size_t i = 0; i < t->into->n; i++) {
        const struct asked key = {t->correlation[i], 0};
        const struct asked *found = bsearch(&key, t->asked, t->n_asked, sizeof key, by_correlation);
        t->into->v[i].asked_ns = found ? found->ns : 0;
    }
}

enum pk_code pk_gpu_trace_stop(struct pk_gpu_trace *t, struct pk_err *err)
{
    size_t dropped = 0;
    if (pk_cupti_check(t->c, t->c->cuptiActivityFlushAll(0), "fetching the trace", err) ||
        pk_cupti_check(t->c, t->c->cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped),
                       "asking what was dropped", err))
        return err->code;
    for (size_t i = 0; i < BUFFERS; i++) {
        CUpti_Activity *r = NULL;
        if (atomic_load(&t->buffers[i].state) == FULL)
            while (!t->c->cuptiActivityGetNextRecord(t->buffers[i].bytes, t->buffers[i].valid, &r))
                add_record(t, r);
    }
    give_back_all(t);
    t->into->dropped += dropped;
    join(t);
    return PK_OK;
}
