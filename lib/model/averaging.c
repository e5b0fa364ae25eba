/* Averaging: what is allocated, and the step itself. */
#include "model/averaging.h"

#include "comm/pause.h"
#include "model/averaging_parts.h"

#include <math.h>

bool pk_averaging_contiguous(enum pk_averaging_way way)
{
    return way == PK_AVERAGE_FLAT || way == PK_AVERAGE_BUCKET;
}

static bool has_own(const struct pk_averaging_options *o)
{
    return !pk_averaging_contiguous(o->way) || o->copy;
}

static bool during_backward(enum pk_averaging_way way)
{
    return way == PK_AVERAGE_OVERLAP || way == PK_AVERAGE_BUCKET;
}

bool pk_averaging_has(const struct pk_averaging_options *o, enum pk_averaging_region region)
{
    switch (region) {
    case PK_REGION_FLATTEN:
        return o->way == PK_AVERAGE_FLAT && o->copy;
    case PK_REGION_ALL_REDUCE:
        return o->way != PK_AVERAGE_NONE && !during_backward(o->way);
    case PK_REGION_WAIT:
        return during_backward(o->way);
    case PK_REGION_COPY_BACK:
        return pk_averaging_contiguous(o->way) && o->copy;
    default:
        return true;
    }
}

static int64_t as_the_pool_counts(size_t bytes)
{
    return (int64_t)((bytes + PK_POOL_ALIGN - 1) / PK_POOL_ALIGN * PK_POOL_ALIGN);
}

int64_t pk_averaging_bytes(const struct pk_averaging_options *o, const struct pk_gradients *g)
{
    const size_t size = pk_dtype_bytes(o->type);
    int64_t bytes = pk_averaging_contiguous(o->way) ? as_the_pool_counts(g->elements * size) : 0;
    for (size_t t = 0; t < g->n && has_own(o); t++)
        bytes += as_the_pool_counts(g->v[t].elements * size);
    return bytes;
}

/* --- set-up --- */

static void plan_buckets(struct pk_averaging *v, struct pk_arena *a)
{
    const struct pk_gradients *g = v->gradients;
    const size_t cap = v->o.way == PK_AVERAGE_BUCKET ? v->o.cap
                       : v->o.way == PK_AVERAGE_FLAT ? g->elements
                                                     : 1;
    size_t *elements = pk_new_n(a, size_t, g->n), *before = pk_new_n(a, size_t, g->n);
    for (size_t t = 0; t < g->n; t++) {
        elements[t] = g->v[t].elements;
        before[t] = t ? before[t - 1] + elements[t - 1] : 0;
    }
    v->before = before;
    pk_buckets_plan(elements, g->n, cap, v->o.way == PK_AVERAGE_BUCKET ? v->o.first_cap : 0, a, &v->buckets);
    pk_filling_init(&v->filling, &v->buckets, a);
}

static void plan_time(struct pk_averaging *v, struct pk_arena *a)
{
    uint64_t *ready_ns = pk_new_n(a, uint64_t, v->gradients->n);
    double share = 0;
    for (size_t t = 0; t < v->gradients->n; t++) {
        share += v->gradients->v[t].share;
        ready_ns[t] = (uint64_t)llround(fmin(share, 1) * (double)v->o.backward_ns);
    }
    v->ready_ns = ready_ns;
}

/* Where gradient t is in the one array. */
static char *slot(const struct pk_averaging *v, size_t t)
{
    return v->flat + v->before[t] * pk_dtype_bytes(v->o.type);
}

static enum pk_code take_memory(struct pk_averaging *v, struct pk_err *err)
{
    const size_t size = pk_dtype_bytes(v->o.type);
    if (pk_averaging_contiguous(v->o.way)) {
        v->flat = pk_device_alloc(v->dev, v->gradients->elements * size, PK_TAG_GRADIENTS);
        if (!v->flat)
            return pk_device_oom(v->dev, err);
    }
    for (size_t t = 0; t < v->gradients->n; t++) {
        const size_t bytes = v->gradients->v[t].elements * size;
        v->grad[t] = has_own(&v->o) ? pk_device_alloc(v->dev, bytes, PK_TAG_GRADIENTS) : slot(v, t);
        if (!v->grad[t])
            return pk_device_oom(v->dev, err);
        v->parts[t] = (struct pk_part){v->grad[t], v->gradients->v[t].elements};
    }
    return PK_OK;
}

enum pk_code pk_averaging_new(struct pk_device *dev, struct pk_comm *comm,
                              const struct pk_averaging_options *o, const struct pk_gradients *g, bool dry,
                              struct pk_arena *a, struct pk_averaging *out, struct pk_err *err)
{
    *out = (struct pk_averaging){.dev = dev, .comm = comm, .o = *o, .gradients = g};
    out->grad = pk_new_n(a, char *, g->n);
    out->reduces = pk_new_n(a, struct pk_reduce, g->n);
    out->parts = pk_new_n(a, struct pk_part, g->n);
    plan_buckets(out, a);
    plan_time(out, a);
    if (take_memory(out, err))
        return err->code;
    return dry ? PK_OK : pk_averaging_fill(out, a, err);
}

void pk_averaging_free(struct pk_averaging *v)
{
    for (size_t t = 0; v->grad && t < v->gradients->n && has_own(&v->o); t++)
        pk_device_free(v->dev, v->grad[t]);
    if (v->dev)
        pk_device_free(v->dev, v->flat);
}

/* --- the step --- */

static char *bucket_data(const struct pk_averaging *v, size_t bucket)
{
    const size_t first = v->buckets.v[bucket].first;
    return v->flat ? slot(v, first) : v->grad[first];
}

static enum pk_code copy(struct pk_averaging *v, char *dst, const char *src, size_t t, struct pk_err *err)
{
    return pk_device_copy(v->dev, PK_LANE_COMPUTE, PK_COPY_ON_DEVICE, dst, src,
                          v->gradients->v[t].elements * pk_dtype_bytes(v->o.type), err);
}

static enum pk_code start_bucket(struct pk_averaging *v, size_t i, struct pk_err *err)
{
    return pk_comm_start(v->comm, &v->reduces[i], bucket_data(v, i), v->buckets.v[i].elements, v->o.type,
                         err);
}

static enum pk_code wait_bucket(struct pk_averaging *v, size_t i, struct pk_err *err)
{
    struct pk_reduce *r = &v->reduces[i];
    enum pk_code rc = pk_comm_wait(v->comm, r, err);
    v->comm_ns += r->ended_ns - r->began_ns;
    return rc;
}

/* Into its bucket, if it is not there already; and away with the buckets that it completes. */
static enum pk_code gradient_ready(struct pk_averaging *v, size_t t, struct pk_err *err)
{
    size_t from, to;
    if (!during_backward(v->o.way))
        return PK_OK;
    enum pk_code rc = v->o.copy && v->flat ? copy(v, slot(v, t), v->grad[t], t, err) : PK_OK;
    for (pk_filling_ready(&v->filling, t, &from, &to); !rc && from < to; from++)
        rc = start_bucket(v, from, err);
    return rc;
}

static enum pk_code backward(struct pk_averaging *v, struct pk_err *err)
{
    const bool copies = v->o.copy && v->o.way == PK_AVERAGE_BUCKET;
    uint64_t began = pk_device_now_ns(v->dev);
    enum pk_code rc = PK_OK;
    for (size_t t = 0; !rc && t < v->gradients->n; t++) {
        pk_pause_until(v->dev, began + v->ready_ns[t]);
        const uint64_t before = copies ? pk_device_now_ns(v->dev) : 0;
        rc = gradient_ready(v, t, err);
        if (copies) /* compute waits for the copy */
            began += pk_device_now_ns(v->dev) - before;
    }
    return rc;
}

static enum pk_code all_reduce(struct pk_averaging *v, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    if (v->o.way == PK_AVERAGE_COALESCED) {
        rc = pk_comm_start_group(v->comm, &v->reduces[0], v->parts, v->gradients->n, v->o.type, err);
        return rc ? rc : wait_bucket(v, 0, err);
    }
    for (size_t i = 0; !rc && i < v->buckets.n; i++) {
        rc = start_bucket(v, i, err);
        if (!rc)
            rc = wait_bucket(v, i, err);
    }
    return rc;
}

static enum pk_code flatten(struct pk_averaging *v, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    for (size_t t = 0; !rc && t < v->gradients->n; t++)
        rc = copy(v, slot(v, t), v->grad[t], t, err);
    return rc;
}

static enum pk_code copy_back(struct pk_averaging *v, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    for (size_t t = 0; !rc && t < v->gradients->n; t++)
        rc = copy(v, v->grad[t], slot(v, t), t, err);
    return rc;
}

static enum pk_code wait_all(struct pk_averaging *v, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    for (size_t i = 0; !rc && i < v->buckets.n; i++)
        rc = wait_bucket(v, i, err);
    return rc;
}

static enum pk_code forward(struct pk_averaging *v, struct pk_err *err)
{
    pk_pause_until(v->dev, pk_device_now_ns(v->dev) + v->o.forward_ns);
    return PK_OK;
}

typedef enum pk_code part_fn(struct pk_averaging *v, struct pk_err *err);

static enum pk_code marked(struct pk_averaging *v, enum pk_averaging_region region, part_fn *part,
                           struct pk_err *err)
{
    if (!pk_averaging_has(&v->o, region))
        return PK_OK;
    pk_mark_begin(v->dev, region, PK_LANE_COMPUTE);
    enum pk_code rc = part(v, err);
    pk_mark_end(v->dev, region, PK_LANE_COMPUTE);
    return rc;
}

static enum pk_code parts(struct pk_averaging *v, struct pk_err *err)
{
    enum pk_code rc = marked(v, PK_REGION_FORWARD, forward, err);
    if (!rc)
        rc = marked(v, PK_REGION_BACKWARD, backward, err);
    if (!rc)
        rc = marked(v, PK_REGION_FLATTEN, flatten, err);
    const uint64_t compute_ended = pk_device_now_ns(v->dev);
    if (!rc)
        rc = marked(v, PK_REGION_ALL_REDUCE, all_reduce, err);
    if (!rc)
        rc = marked(v, PK_REGION_WAIT, wait_all, err);
    v->exposed_ns = pk_device_now_ns(v->dev) - compute_ended;
    return rc ? rc : marked(v, PK_REGION_COPY_BACK, copy_back, err);
}

enum pk_code pk_averaging_step(struct pk_averaging *v, struct pk_err *err)
{
    const uint64_t reduces = v->comm->reduces, bytes = v->comm->reduced_bytes;
    v->comm_ns = 0;
    pk_filling_reset(&v->filling);
    enum pk_code rc = marked(v, PK_REGION_STEP, parts, err);
    v->reduces_n = v->comm->reduces - reduces;
    v->reduced_bytes = v->comm->reduced_bytes - bytes;
    if (rc)
        pk_comm_abort(v->comm); /* the others are not to wait for this rank */
    return rc;
}
