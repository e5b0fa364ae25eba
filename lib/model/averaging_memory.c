/* Averaging memory: which arrays a way has, and what is in them. */
#include "base/err.h"
#include "model/averaging_parts.h"

#include <math.h>

bool pk_averaging_contiguous(enum pk_averaging_way way)
{
    return way == PK_AVERAGE_FLAT || way == PK_AVERAGE_BUCKET;
}

/* Gradients are where the backward pass leaves them. */
static bool in_place(const struct pk_averaging_options *o)
{
    return o->work == PK_WORK_TRANSFORMER && o->type == PK_FP32;
}

static bool has_own(const struct pk_averaging_options *o)
{
    return !in_place(o) && (!pk_averaging_contiguous(o->way) || o->copy);
}

static bool has_flat(const struct pk_averaging_options *o)
{
    return pk_averaging_contiguous(o->way) && (o->copy || !in_place(o));
}

bool pk_averaging_has(const struct pk_averaging_options *o, enum pk_averaging_region region)
{
    switch (region) {
    case PK_REGION_FLATTEN:
        return o->way == PK_AVERAGE_FLAT && o->copy;
    case PK_REGION_ALL_REDUCE:
        return o->way != PK_AVERAGE_NONE && !pk_averaging_overlaps(o->way);
    case PK_REGION_WAIT:
        return pk_averaging_overlaps(o->way);
    case PK_REGION_COPY_BACK:
        return pk_averaging_contiguous(o->way) && o->copy;
    default:
        return true;
    }
}

int64_t pk_averaging_bytes(const struct pk_averaging_options *o, const struct pk_gradients *g)
{
    const size_t size = pk_dtype_bytes(o->type);
    int64_t bytes = has_flat(o) ? (int64_t)pk_pool_rounded(g->elements * size) : 0;
    for (size_t t = 0; t < g->n && has_own(o); t++)
        bytes += (int64_t)pk_pool_rounded(g->v[t].elements * size);
    return bytes;
}

/* --- set-up --- */

static enum pk_code take_memory(struct pk_averaging *v, struct pk_err *err)
{
    if (has_flat(&v->o)) {
        v->flat =
            pk_device_alloc(v->dev, v->gradients->elements * pk_dtype_bytes(v->o.type), PK_TAG_GRADIENTS);
        if (!v->flat)
            return pk_device_oom(v->dev, err);
    }
    for (size_t t = 0; t < v->gradients->n; t++) {
        const size_t n = v->gradients->v[t].elements;
        v->grad[t] = has_own(&v->o) ? pk_device_alloc(v->dev, n * pk_dtype_bytes(v->o.type), PK_TAG_GRADIENTS)
                     : in_place(&v->o) ? (char *)pk_averaging_source(v, t)
                                       : pk_averaging_slot(v, t);
        if (!v->grad[t])
            return pk_device_oom(v->dev, err);
        v->parts[t] = (struct pk_part){v->grad[t], n};
    }
    return PK_OK;
}

static enum pk_code make_moments(struct pk_averaging *v, struct pk_arena *a, struct pk_err *err)
{
    struct pk_averaging_moments *p = &v->moments;
    struct pk_lane_event *const few[] = {&p->backward_began, &p->backward_ended, &p->compute_ended,
                                         &p->comm_ended};
    enum pk_code rc = PK_OK;
    p->made = pk_new_n(a, struct pk_lane_event, v->gradients->n);
    for (size_t i = 0; !rc && i < sizeof few / sizeof *few; i++)
        rc = pk_lane_event_make(v->dev, few[i], err);
    for (size_t t = 0; !rc && t < v->gradients->n; t++)
        rc = pk_lane_event_make(v->dev, &p->made[t], err);
    return rc;
}

enum pk_code pk_averaging_new(struct pk_device *dev, struct pk_comm *comm,
                              const struct pk_averaging_options *o, const struct pk_gradients *g, bool dry,
                              struct pk_arena *a, struct pk_averaging *out, struct pk_err *err)
{
    *out = (struct pk_averaging){.dev = dev, .comm = comm, .o = *o, .gradients = g};
    out->grad = pk_new_n(a, char *, g->n);
    out->parts = pk_new_n(a, struct pk_part, g->n);
    out->made_ns = pk_new_n(a, uint64_t, g->n);
    const size_t cap = o->way == PK_AVERAGE_BUCKET ? o->cap : o->way == PK_AVERAGE_FLAT ? g->elements : 1;
    size_t *elements = pk_new_n(a, size_t, g->n), *before = pk_new_n(a, size_t, g->n);
    for (size_t t = 0; t < g->n; t++) {
        elements[t] = g->v[t].elements;
        before[t] = t ? before[t - 1] + elements[t - 1] : 0;
    }
    out->before = before;
    (o->split ? pk_buckets_split : pk_buckets_plan)(
        elements, g->n, cap, o->way == PK_AVERAGE_BUCKET ? o->first_cap : 0, a, &out->buckets);
    out->reduces = pk_new_n(a, struct pk_reduce, out->buckets.n);
    out->least_ns = pk_new_n(a, uint64_t, out->buckets.n);
    pk_bucket_progress_init(&out->bucket_progress, &out->buckets, a);
    uint64_t *ready_ns = pk_new_n(a, uint64_t, g->n);
    double share = 0;
    for (size_t t = 0; t < g->n; t++) {
        share += g->v[t].share;
        ready_ns[t] = (uint64_t)llround(fmin(share, 1) * (double)o->backward_ns);
    }
    out->ready_ns = ready_ns;
    if (o->training) {
        struct pk_transformer *t = &o->training->t;
        pk_assert(t->layout.n == g->n && t->layout.elements == g->elements);
        t->hook = (struct pk_gradient_hook){pk_averaging_made, out};
    }
    if (make_moments(out, a, err) || take_memory(out, err))
        return err->code;
    return dry || o->training ? PK_OK : pk_averaging_fill(out, a, err);
}

void pk_averaging_free(struct pk_averaging *v)
{
    for (size_t t = 0; v->grad && t < v->gradients->n && has_own(&v->o); t++)
        pk_device_free(v->dev, v->grad[t]);
    if (v->dev) {
        pk_device_free(v->dev, v->flat);
        struct pk_averaging_moments *p = &v->moments;
        struct pk_lane_event *const few[] = {&p->backward_began, &p->backward_ended, &p->compute_ended,
                                             &p->comm_ended};
        for (size_t i = 0; i < sizeof few / sizeof *few; i++)
            pk_lane_event_drop(v->dev, few[i]);
        for (size_t t = 0; p->made && t < v->gradients->n; t++)
            pk_lane_event_drop(v->dev, &p->made[t]);
    }
    if (v->o.training)
        v->o.training->t.hook = (struct pk_gradient_hook){0};
}
