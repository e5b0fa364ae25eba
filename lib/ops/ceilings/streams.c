/* Streams: the rates at which the threads of a CPU walk arrays of a size. */
#include "ops/ceilings/ceilings.h"

#include "base/clock.h"
#include "device/cpu/cpu.h"
#include "machine/machine.h"
#include "ops/cpu/kernels.h"

#include <math.h>

enum {
    RUNS = 4,
    TRIALS = 3,
    RUN_NS = 200 * 1000,        /* at least, of one run */
    RUNS_NS = 30 * 1000 * 1000, /* after so long no third run of a stream of a size */
    SKEW_FLOATS = 80,           /* so that the arrays of a stream do not begin at the same place of a page */
    OWN_BYTES = 16 << 20,       /* up to here each lane walks a part of its own, again and again */
    PART_BYTES = 1 << 20        /* of larger arrays, which lanes take as they come */
};
static const size_t first_bytes = 16 << 10; /* of a lane */
static const size_t least_bytes =
    256 << 20; /* caches that are not reported are often larger than four of those that are */
static const uint64_t time_ns = 3 * PK_NS_PER_S;

/* Arrays that a stream has, and the bytes that it reads and writes of an element of each. */
static const struct {
    size_t arrays, bytes;
} shapes[PK_STREAMS] = {[PK_STREAM_UPDATE] = {1, 8},
                        [PK_STREAM_COPY] = {2, 8},
                        [PK_STREAM_TRIAD] = {3, 12},
                        [PK_STREAM_READ] = {2, 8}};

struct stream_run {
    struct pk_device *dev;
    const struct pk_kernels *k;
    unsigned lanes;
    float *block;
    size_t parts, part_floats; /* each part holds the arrays of a stream */
    size_t passes;
    enum pk_stream_kind kind;
};

static size_t array_floats(const struct stream_run *w)
{
    return w->part_floats / shapes[w->kind].arrays - SKEW_FLOATS;
}

static void fill_task(void *arg, size_t task, unsigned thread)
{
    const struct stream_run *w = arg;
    for (size_t i = 0; i < w->part_floats; i++)
        w->block[task * w->part_floats + i] = 1.0f;
}

static void walk_task(void *arg, size_t task, unsigned thread)
{
    struct stream_run *w = arg;
    const size_t n = array_floats(w), bytes = n * sizeof(float);
    float *x = w->block + task * w->part_floats, *y = x + n, *z = y + n;
    const struct pk_copy2d dense = {x, y, 1, bytes, bytes, bytes};
    for (size_t pass = 0; pass < w->passes; pass++)
        switch (w->kind) {
        case PK_STREAM_UPDATE:
            w->k->scale(PK_FP32, 1.0f, x, x, n);
            break;
        case PK_STREAM_COPY:
            w->k->copy2d(&dense);
            break;
        case PK_STREAM_TRIAD:
            w->k->triad(x, y, z, n);
            break;
        default:
            *(volatile float *)z = w->k->dot(x, y, n); /* behind both arrays */
        }
}

static uint64_t run(struct stream_run *w, pk_task_fn *task)
{
    const uint64_t begin = pk_clock_ns();
    pk_cpu_parallel_for(w->dev, task, w, w->parts);
    return pk_clock_ns() - begin;
}

/* One slow run may be a thread that was kept waiting. */
static bool long_enough(struct stream_run *w)
{
    for (int i = 0; i < TRIALS; i++)
        if (run(w, walk_task) < RUN_NS)
            return false;
    return true;
}

/* Bytes per second of the fastest run. */
static double best_rate(struct stream_run *w)
{
    uint64_t best = UINT64_MAX, spent = 0;
    w->passes = 1;
    while (w->parts == w->lanes && w->part_floats < OWN_BYTES / sizeof(float) && !long_enough(w))
        w->passes *= 2;
    for (int i = 0; i < 2 || (i < RUNS && spent < RUNS_NS); i++) {
        const uint64_t ns = run(w, walk_task);
        spent += ns;
        best = ns < best ? ns : best;
    }
    return 1e9 * (double)(w->passes * w->parts * array_floats(w) * shapes[w->kind].bytes) / (double)best;
}

static enum pk_code measure(void *user, size_t bytes, double rate[PK_STREAMS], struct pk_err *err)
{
    struct stream_run *w = user;
    w->block = pk_device_alloc(w->dev, bytes, PK_TAG_WORKSPACE);
    if (!w->block)
        return pk_device_oom(w->dev, err);
    const bool own = w->lanes == 1 || bytes / w->lanes <= OWN_BYTES;
    w->parts = own ? w->lanes : bytes / PART_BYTES;
    w->part_floats = bytes / w->parts / sizeof(float) / 64 * 64;
    run(w, fill_task);
    for (size_t s = 0; s < PK_STREAMS; s++) {
        w->kind = (enum pk_stream_kind)s;
        rate[s] = fmax(rate[s], best_rate(w));
    }
    pk_device_free(w->dev, w->block);
    pk_pool_trim(&w->dev->pool);
    return PK_OK;
}

/* What the lanes reach, of those that the machine reports; its last-level cache, or the usual one, where it reports none. */
static void caches_of(unsigned lanes, double bytes[PK_LEVEL_BETWEEN])
{
    struct pk_cache levels[PK_CACHE_LEVELS];
    double any = 0;
    pk_machine_caches(NULL, levels);
    for (size_t i = 0; i < PK_LEVEL_BETWEEN; i++) {
        bytes[i] = (double)levels[i].bytes * (levels[i].n < lanes ? levels[i].n : lanes);
        any += bytes[i];
    }
    if (!(any > 0))
        bytes[PK_LEVEL_L3] = (double)pk_machine_cache_bytes();
}

static enum pk_code add_curve(struct pk_device *dev, unsigned lanes, struct pk_ceilings *out,
                              struct pk_curves *curves, struct pk_err *err)
{
    struct stream_run w = {.dev = dev, .k = pk_kernels_of(pk_cpu_isa(dev)), .lanes = lanes};
    struct pk_curve *c = &curves->v[curves->n];
    struct pk_curve_source s = {.lanes = lanes,
                                .first_bytes = first_bytes * lanes,
                                .least_bytes = least_bytes,
                                .most_bytes = (dev->pool.limit - dev->pool.current) / 2,
                                .time_ns = time_ns,
                                .measure = measure,
                                .user = &w};
    caches_of(lanes, s.cache_bytes);
    if (pk_curve_grow(&s, c, err))
        return err->code;
    if (!curves->n++)
        pk_ceilings_of_curve(c, s.cache_bytes, out);
    return PK_OK;
}

enum pk_code pk_cpu_curves(struct pk_device *dev, bool one_lane, struct pk_ceilings *out,
                           struct pk_curves *curves, struct pk_err *err)
{
    const unsigned lanes = pk_cpu_threads(dev);
    if (add_curve(dev, lanes, out, curves, err))
        return err->code;
    return one_lane && lanes > 1 ? add_curve(dev, 1, out, curves, err) : PK_OK;
}
