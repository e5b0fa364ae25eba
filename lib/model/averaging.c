/* Averaging: the step. */
#include "model/averaging.h"

#include "model/averaging_parts.h"
#include "ops/ops.h"

static enum pk_code copy(struct pk_averaging *v, char *dst, const char *src, size_t t, struct pk_err *err)
{
    return pk_device_copy(v->dev, PK_LANE_COMPUTE, PK_COPY_ON_DEVICE, dst, src,
                          v->gradients->v[t].elements * pk_dtype_bytes(v->o.type), err);
}

static enum pk_code start_bucket(struct pk_averaging *v, size_t i, struct pk_err *err)
{
    /* A training's own array begins with the last gradient; other buckets without an array are of one gradient. */
    const struct pk_bucket *b = &v->buckets.v[i];
    const size_t size = pk_dtype_bytes(v->o.type), last = v->gradients->n - 1;
    char *data = v->flat ? v->flat + b->start * size
                 : pk_averaging_contiguous(v->o.way)
                     ? v->grad[last] + (v->gradients->elements - b->start - b->elements) * size
                     : v->grad[b->first];
    return pk_comm_start(v->comm, &v->reduces[i], data, b->elements, v->o.type, err);
}

/* The compute lane is here. */
static enum pk_code note(struct pk_averaging *v, struct pk_lane_event *p, struct pk_err *err)
{
    return pk_lane_event_record(v->dev, PK_LANE_COMPUTE, p, err);
}

/* Into its bucket, if it is not there already; and away with the buckets that it completes. */
static enum pk_code gradient_ready(struct pk_averaging *v, size_t t, struct pk_err *err)
{
    size_t from, to;
    enum pk_code rc = note(v, &v->moments.made[t], err);
    if (rc || !pk_averaging_overlaps(v->o.way))
        return rc;
    rc = v->o.copy && v->flat ? copy(v, pk_averaging_slot(v, t), v->grad[t], t, err) : PK_OK;
    for (pk_bucket_progress_ready(&v->bucket_progress, t, &from, &to); !rc && from < to; from++)
        rc = start_bucket(v, from, err);
    return rc;
}

enum pk_code pk_averaging_made(void *user, size_t parameter, struct pk_err *err)
{
    struct pk_averaging *v = user;
    const size_t t = v->gradients->n - 1 - parameter;
    const struct pk_adamw narrow = {.n = v->gradients->v[t].elements,
                                    .passes = PK_ADAMW_NARROW,
                                    .p = pk_averaging_source(v, t),
                                    .narrow = (uint16_t *)v->grad[t]};
    if (v->o.type == PK_BF16 && pk_op_adamw(v->dev, &narrow, err))
        return err->code;
    return gradient_ready(v, t, err);
}

static enum pk_code timer_backward(struct pk_averaging *v, struct pk_err *err)
{
    const bool queue = pk_lanes_queue(v->dev), copies = v->o.copy && v->o.way == PK_AVERAGE_BUCKET;
    uint64_t began = v->moments.backward_began.ns;
    enum pk_code rc = PK_OK;
    for (size_t t = 0; !rc && t < v->gradients->n; t++) {
        if (queue) { /* one after the other in the lane, including copies */
            pk_device_delay(v->dev, PK_LANE_COMPUTE, v->ready_ns[t] - (t ? v->ready_ns[t - 1] : 0));
            rc = gradient_ready(v, t, err);
            continue;
        }
        pk_pause_until(v->dev, began + v->ready_ns[t]);
        const uint64_t before = copies ? pk_device_now_ns(v->dev) : 0;
        rc = gradient_ready(v, t, err);
        if (copies) /* compute waits for the copy */
            began += pk_device_now_ns(v->dev) - before;
    }
    return rc;
}

static enum pk_code backward(struct pk_averaging *v, struct pk_err *err)
{
    enum pk_code rc = note(v, &v->moments.backward_began, err);
    if (!rc)
        rc = v->o.training ? pk_transformer_backward(&v->o.training->t, err) : timer_backward(v, err);
    return rc ? rc : note(v, &v->moments.backward_ended, err);
}

static enum pk_code all_reduce(struct pk_averaging *v, struct pk_err *err)
{
    if (v->o.way == PK_AVERAGE_COALESCED) {
        enum pk_code rc =
            pk_comm_start_group(v->comm, &v->reduces[0], v->parts, v->gradients->n, v->o.type, err);
        return rc ? rc : pk_comm_wait(v->comm, &v->reduces[0], err);
    }
    for (size_t i = 0; i < v->buckets.n; i++)
        if (start_bucket(v, i, err) || pk_comm_wait(v->comm, &v->reduces[i], err))
            return err->code;
    return PK_OK;
}

static enum pk_code flatten(struct pk_averaging *v, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    for (size_t t = 0; !rc && t < v->gradients->n; t++)
        rc = copy(v, pk_averaging_slot(v, t), v->grad[t], t, err);
    return rc;
}

static enum pk_code copy_back(struct pk_averaging *v, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    for (size_t t = 0; !rc && t < v->gradients->n; t++)
        rc = copy(v, v->grad[t], pk_averaging_slot(v, t), t, err);
    return rc;
}

static enum pk_code wait_all(struct pk_averaging *v, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    for (size_t i = 0; !rc && i < v->buckets.n; i++)
        rc = pk_comm_wait(v->comm, &v->reduces[i], err);
    return rc;
}

static enum pk_code forward(struct pk_averaging *v, struct pk_err *err)
{
    if (v->o.training)
        return pk_transformer_forward(&v->o.training->t, true, err);
    if (pk_lanes_queue(v->dev))
        pk_device_delay(v->dev, PK_LANE_COMPUTE, v->o.forward_ns);
    else
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

static enum pk_code run_parts(struct pk_averaging *v, struct pk_err *err)
{
    if (marked(v, PK_REGION_FORWARD, forward, err) || marked(v, PK_REGION_BACKWARD, backward, err) ||
        marked(v, PK_REGION_FLATTEN, flatten, err) || note(v, &v->moments.compute_ended, err) ||
        marked(v, PK_REGION_ALL_REDUCE, all_reduce, err) || marked(v, PK_REGION_WAIT, wait_all, err) ||
        note(v, &v->moments.comm_ended, err))
        return err->code;
    return marked(v, PK_REGION_COPY_BACK, copy_back, err);
}

static void read_times(struct pk_averaging *v)
{
    const struct pk_averaging_moments *p = &v->moments;
    v->backward_began_ns = pk_lane_event_ns(v->dev, &p->backward_began);
    v->backward_ended_ns = pk_lane_event_ns(v->dev, &p->backward_ended);
    v->exposed_ns = pk_lane_event_ns(v->dev, &p->comm_ended) - pk_lane_event_ns(v->dev, &p->compute_ended);
    for (size_t t = 0; t < v->gradients->n; t++)
        v->made_ns[t] = pk_lane_event_ns(v->dev, &p->made[t]) - v->backward_began_ns;
    v->comm_ns = 0;
    for (size_t i = 0; i < v->reduces_n; i++) {
        const uint64_t took_ns = v->reduces[i].ended_ns - v->reduces[i].began_ns;
        v->comm_ns += took_ns;
        v->least_ns[i] = !v->least_ns[i] || took_ns < v->least_ns[i] ? took_ns : v->least_ns[i];
    }
}

enum pk_code pk_averaging_step(struct pk_averaging *v, struct pk_err *err)
{
    const uint64_t reduces = v->comm->reduces, bytes = v->comm->reduced_bytes;
    pk_bucket_progress_reset(&v->bucket_progress);
    enum pk_code rc = pk_lanes_anchor(v->dev, err);
    if (!rc)
        rc = marked(v, PK_REGION_STEP, run_parts, err);
    v->reduces_n = v->comm->reduces - reduces;
    v->reduced_bytes = v->comm->reduced_bytes - bytes;
    if (!rc)
        rc = pk_comm_settle(v->comm, err);
    if (!rc && pk_lanes_queue(v->dev)) /* its moments are passed when all of its lanes are */
        rc = pk_device_sync(v->dev, err);
    if (!rc)
        read_times(v);
    if (rc && v->o.training)
        pk_transformer_forget(&v->o.training->t);
    if (rc)
        pk_comm_abort(v->comm); /* this rank is no longer where the others are */
    return rc;
}
