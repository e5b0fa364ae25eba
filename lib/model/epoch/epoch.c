/* Epoch: the loop over micro-steps and windows. */
#include "model/epoch/epoch.h"

#include "base/err.h"

#include <string.h>

typedef enum pk_code part_fn(struct pk_epoch *e, size_t k, struct pk_err *err);

static void begin(struct pk_epoch *e, unsigned region)
{
    if (e->marked)
        pk_mark_begin(e->dev, region, PK_LANE_COMPUTE);
}

static void end(struct pk_epoch *e, unsigned region)
{
    if (e->marked)
        pk_mark_end(e->dev, region, PK_LANE_COMPUTE);
}

static enum pk_code marked(struct pk_epoch *e, unsigned region, part_fn *part, size_t k, struct pk_err *err)
{
    begin(e, region);
    enum pk_code rc = part(e, k, err);
    end(e, region);
    return rc;
}

/* --- inputs --- */

static struct pk_epoch_input *input_of(struct pk_epoch *e, size_t k)
{
    return &e->in[e->o.overlapped ? k % 2 : 0];
}

static size_t sequences(const struct pk_epoch *e, size_t k)
{
    return pk_schedule_part(&e->loader->schedule, k).n;
}

static enum pk_code take(struct pk_epoch *e, size_t k, struct pk_err *err)
{
    if (pk_loader_take(e->loader, k))
        return PK_OK;
    return pk_fail(err, PK_E_IO, "the device no longer works");
}

static enum pk_code copy(struct pk_epoch *e, size_t k, enum pk_lane lane, struct pk_err *err)
{
    const struct pk_slot *slot = &e->loader->slots[k % e->loader->n_slots];
    const struct pk_epoch_input *in = input_of(e, k);
    const size_t bytes = sequences(e, k) * e->model.seq * sizeof(int32_t);
    enum pk_code rc = PK_OK;
    if (bytes)
        rc = pk_device_copy(e->dev, lane, PK_COPY_HOST_TO_DEVICE, in->tokens, slot->tokens, bytes, err);
    if (bytes && !rc)
        rc = pk_device_copy(e->dev, lane, PK_COPY_HOST_TO_DEVICE, in->targets, slot->targets, bytes, err);
    return rc;
}

static void release(void *loader)
{
    pk_loader_release(loader);
}

/* Micro-batch k on the copy lane, as soon as the micro-step that read the same memory is done. */
static enum pk_code send(struct pk_epoch *e, size_t k, struct pk_err *err)
{
    struct pk_epoch_input *in = input_of(e, k);
    if ((k >= 2 && pk_lane_await(e->dev, PK_LANE_COPY, &in->used, err)) || copy(e, k, PK_LANE_COPY, err) ||
        pk_lane_event_record(e->dev, PK_LANE_COPY, &in->there, err))
        return err->code;
    if (pk_lanes_queue(e->dev))
        return pk_lane_call(e->dev, PK_LANE_COPY, release, e->loader, err);
    release(e->loader);
    return PK_OK;
}

/* What the host does for the data: overlapped, one micro-batch ahead. */
static enum pk_code get_data(struct pk_epoch *e, size_t k, struct pk_err *err)
{
    if (!e->o.overlapped)
        return take(e, k, err);
    if ((k == 0 && (take(e, 0, err) || send(e, 0, err))) ||
        (k + 1 < e->loader->steps && (take(e, k + 1, err) || send(e, k + 1, err))))
        return err->code;
    return PK_OK;
}

static enum pk_code get_input(struct pk_epoch *e, size_t k, struct pk_err *err)
{
    if (e->o.overlapped)
        return pk_lane_await(e->dev, PK_LANE_COMPUTE, &input_of(e, k)->there, err);
    enum pk_code rc = copy(e, k, PK_LANE_COMPUTE, err);
    if (!rc && pk_lanes_queue(e->dev))
        rc = pk_device_sync(e->dev, err);
    if (!rc)
        release(e->loader);
    return rc;
}

/* --- a micro-step --- */

void pk_epoch_loss_begins(void *epoch)
{
    struct pk_epoch *e = epoch;
    e->in_loss = true;
    end(e, PK_EPOCH_FORWARD);
    begin(e, PK_EPOCH_LOSS);
}

/* Both regions occur once in every micro-step, also when it has no samples or fails. */
static enum pk_code forward(struct pk_epoch *e, size_t k, bool keep, struct pk_err *err)
{
    const size_t n = sequences(e, k);
    e->in_loss = false;
    begin(e, PK_EPOCH_FORWARD);
    enum pk_code rc = n ? e->model.forward(e->model.user, input_of(e, k), n, keep, err) : PK_OK;
    if (!e->in_loss)
        pk_epoch_loss_begins(e);
    if (!rc && n)
        rc = pk_device_copy(e->dev, PK_LANE_COMPUTE, PK_COPY_ON_DEVICE, e->losses + k, e->model.loss,
                            sizeof *e->losses, err);
    end(e, PK_EPOCH_LOSS);
    return rc;
}

static enum pk_code backward(struct pk_epoch *e, size_t k, struct pk_err *err)
{
    const bool first = k % e->o.accum == 0;
    enum pk_code rc = PK_OK;
    if (sequences(e, k))
        rc = e->model.backward(e->model.user, !first, err);
    else if (first)
        rc = e->model.clear(e->model.user, err);
    if (!rc && e->o.overlapped)
        rc = pk_lane_event_record(e->dev, PK_LANE_COMPUTE, &input_of(e, k)->used, err);
    return rc;
}

static enum pk_code all_reduce(struct pk_epoch *e, size_t k, struct pk_err *err)
{
    struct pk_reduce *r = e->reduces + e->reduces_n;
    for (size_t i = 0; i < e->buckets; i++) {
        const size_t at = i * e->o.bucket, left = e->model.elements - at;
        if (pk_comm_start(e->comm, &r[i], e->model.gradients + at, left < e->o.bucket ? left : e->o.bucket,
                          PK_FP32, err))
            return err->code;
    }
    e->reduces_n += e->buckets;
    for (size_t i = 0; i < e->buckets; i++)
        if (pk_comm_wait(e->comm, &r[i], err))
            return err->code;
    return PK_OK;
}

/* Gradients are sums over micro-batches of `batch` sequences each, averaged over ranks; what is wanted is the mean over the samples of the
 * window that micro-step k ends. */
static float factor_of(const struct pk_epoch *e, size_t k)
{
    struct pk_schedule s = e->loader->schedule;
    const unsigned ranks = s.ranks;
    size_t samples = 0;
    for (size_t i = k - k % e->o.accum; i <= k; i++)
        for (s.rank = e->o.virtual_ranks ? e->loader->schedule.rank : 0; s.rank < ranks; s.rank++) {
            samples += pk_schedule_part(&s, i).n;
            if (e->o.virtual_ranks)
                break;
        }
    return (float)((double)e->model.batch * (e->o.virtual_ranks ? 1 : ranks) / (double)samples);
}

static enum pk_code update(struct pk_epoch *e, size_t k, struct pk_err *err)
{
    return e->model.update(e->model.user, factor_of(e, k), err);
}

static bool ends_window(const struct pk_epoch *e, size_t k)
{
    return (k + 1) % e->o.accum == 0 || k + 1 == e->micro_steps;
}

/* With its input on the device. */
static enum pk_code compute(struct pk_epoch *e, size_t k, struct pk_err *err)
{
    if (forward(e, k, true, err) || marked(e, PK_EPOCH_BACKWARD, backward, k, err))
        return err->code;
    if ((e->o.every || ends_window(e, k)) && marked(e, PK_EPOCH_ALL_REDUCE, all_reduce, k, err))
        return err->code;
    return ends_window(e, k) ? marked(e, PK_EPOCH_OPTIMIZER, update, k, err) : PK_OK;
}

static enum pk_code micro_step(struct pk_epoch *e, size_t k, struct pk_err *err)
{
    if (marked(e, PK_EPOCH_DATA, get_data, k, err) || marked(e, PK_EPOCH_H2D, get_input, k, err))
        return err->code;
    return compute(e, k, err);
}

/* --- an epoch --- */

static enum pk_code wait_for_device(struct pk_epoch *e, size_t k, struct pk_err *err)
{
    enum pk_code rc = pk_comm_settle(e->comm, err);
    return !rc && pk_lanes_queue(e->dev) ? pk_device_sync(e->dev, err) : rc;
}

static enum pk_code training(struct pk_epoch *e, size_t k, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    for (k = 0; !rc && k < e->micro_steps; k++)
        rc = micro_step(e, k, err);
    return rc ? rc : marked(e, PK_EPOCH_WAIT, wait_for_device, k, err);
}

/* Its parts are not marked. */
static enum pk_code validation(struct pk_epoch *e, size_t k, struct pk_err *err)
{
    const bool marks = e->marked;
    enum pk_code rc = PK_OK;
    e->marked = false;
    for (; !rc && k < e->micro_steps + e->validations; k++)
        if (!(rc = get_data(e, k, err)) && !(rc = get_input(e, k, err)) &&
            !(rc = forward(e, k, false, err)) && e->o.overlapped)
            rc = pk_lane_event_record(e->dev, PK_LANE_COMPUTE, &input_of(e, k)->used, err);
    if (!rc && pk_lanes_queue(e->dev))
        rc = pk_device_sync(e->dev, err);
    e->marked = marks;
    return rc;
}

static enum pk_code training_and_validation(struct pk_epoch *e, size_t k, struct pk_err *err)
{
    enum pk_code rc = marked(e, PK_EPOCH_TRAINING, training, 0, err);
    return rc || !e->validations ? rc : marked(e, PK_EPOCH_VALIDATION, validation, e->micro_steps, err);
}

/* This rank is no longer where the others are. */
static enum pk_code left(struct pk_epoch *e, enum pk_code rc)
{
    if (rc) {
        e->model.forget(e->model.user);
        pk_comm_abort(e->comm);
    }
    return rc;
}

enum pk_code pk_epoch_run(struct pk_epoch *e, struct pk_err *err)
{
    e->reduces_n = 0;
    e->marked = true;
    pk_loader_begin(e->loader);
    enum pk_code rc = pk_lanes_anchor(e->dev, err);
    return left(e, rc ? rc : marked(e, PK_EPOCH, training_and_validation, 0, err));
}

/* Micro-batch k, while no epoch runs. */
static enum pk_code plain_input(struct pk_epoch *e, size_t k, struct pk_err *err)
{
    pk_loader_make(e->loader, k);
    enum pk_code rc = copy(e, k, PK_LANE_COMPUTE, err);
    return rc ? rc : pk_device_sync(e->dev, err);
}

static enum pk_code settled(struct pk_epoch *e, enum pk_code rc, struct pk_err *err)
{
    if (!rc)
        rc = pk_comm_settle(e->comm, err);
    return left(e, rc ? rc : pk_device_sync(e->dev, err));
}

enum pk_code pk_epoch_first(struct pk_epoch *e, struct pk_err *err)
{
    e->reduces_n = 0;
    e->marked = false;
    enum pk_code rc = pk_lanes_anchor(e->dev, err);
    if (!rc && !(rc = plain_input(e, 0, err)) && !(rc = forward(e, 0, true, err)) &&
        !(rc = backward(e, 0, err)))
        rc = all_reduce(e, 0, err);
    return settled(e, rc, err);
}

enum pk_code pk_epoch_replay(struct pk_epoch *e, size_t n, float *losses, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    e->marked = false;
    for (size_t k = 0; !rc && k < n; k++) {
        e->reduces_n = 0;
        rc = pk_lanes_anchor(e->dev, err);
        if (!rc && !(rc = plain_input(e, k, err)))
            rc = compute(e, k, err);
        rc = settled(e, rc, err);
    }
    return rc ? rc : pk_epoch_losses(e, losses, err);
}

enum pk_code pk_epoch_losses(struct pk_epoch *e, float *losses, struct pk_err *err)
{
    const size_t n = e->micro_steps + e->validations;
    enum pk_code rc =
        pk_device_copy_now(e->dev, PK_COPY_DEVICE_TO_HOST, losses, e->losses, n * sizeof *losses, err);
    for (size_t k = 0; k < n; k++)
        if (!sequences(e, k))
            losses[k] = 0;
    return rc;
}

/* --- opening --- */

static enum pk_code make_second_input(struct pk_epoch *e, struct pk_err *err)
{
    const size_t bytes = e->model.batch * e->model.seq * sizeof(int32_t);
    e->in[1].tokens = pk_device_alloc(e->dev, bytes, PK_TAG_INPUT);
    e->in[1].targets = pk_device_alloc(e->dev, bytes, PK_TAG_INPUT);
    if (!e->in[1].tokens || !e->in[1].targets)
        return pk_device_oom(e->dev, err);
    for (size_t i = 0; i < 2; i++)
        if (pk_lane_event_make(e->dev, &e->in[i].there, err) ||
            pk_lane_event_make(e->dev, &e->in[i].used, err))
            return err->code;
    return PK_OK;
}

enum pk_code pk_epoch_open(struct pk_epoch *e, struct pk_device *dev, struct pk_comm *comm,
                           struct pk_loader *loader, const struct pk_epoch_model *model,
                           const struct pk_epoch_options *o, const struct pk_epoch_input *input,
                           struct pk_arena *a, struct pk_err *err)
{
    *e = (struct pk_epoch){
        .dev = dev, .comm = comm, .loader = loader, .model = *model, .o = *o, .in = {*input}};
    e->micro_steps = pk_schedule_training(&loader->schedule);
    e->validations = pk_schedule_validation(&loader->schedule);
    e->windows = (e->micro_steps + o->accum - 1) / o->accum;
    e->buckets = (model->elements + o->bucket - 1) / o->bucket;
    e->reduces = pk_new_n(a, struct pk_reduce, (o->every ? e->micro_steps : e->windows) * e->buckets);
    e->losses = pk_device_alloc(dev, (e->micro_steps + e->validations) * sizeof *e->losses, PK_TAG_OTHER);
    if (!e->losses)
        return pk_device_oom(dev, err);
    return o->overlapped ? make_second_input(e, err) : PK_OK;
}

void pk_epoch_free(struct pk_epoch *e)
{
    if (!e->dev)
        return;
    for (size_t i = 0; i < 2; i++) {
        pk_lane_event_drop(e->dev, &e->in[i].there);
        pk_lane_event_drop(e->dev, &e->in[i].used);
    }
    pk_device_free(e->dev, e->in[1].tokens);
    pk_device_free(e->dev, e->in[1].targets);
    pk_device_free(e->dev, e->losses);
    *e = (struct pk_epoch){0};
}

/* --- a transformer --- */

static struct pk_transformer *trained(void *user)
{
    return ((struct pk_epoch *)user)->model.trained;
}

static enum pk_code transformer_forward(void *user, const struct pk_epoch_input *in, size_t n, bool keep,
                                        struct pk_err *err)
{
    struct pk_transformer *t = trained(user);
    t->tokens = in->tokens;
    t->targets = in->targets;
    t->c.batch = n;
    t->weight = (float)n / (float)((struct pk_epoch *)user)->model.batch;
    return pk_transformer_forward(t, keep, err);
}

static enum pk_code transformer_backward(void *user, bool add, struct pk_err *err)
{
    struct pk_transformer *t = trained(user);
    t->add = add;
    return pk_transformer_backward(t, err);
}

static enum pk_code transformer_clear(void *user, struct pk_err *err)
{
    return pk_transformer_scale(trained(user), 0, err);
}

static enum pk_code transformer_update(void *user, float factor, struct pk_err *err)
{
    struct pk_transformer *t = trained(user);
    if (factor != 1.0f && pk_transformer_scale(t, factor, err))
        return err->code;
    return pk_transformer_update(t, err);
}

static void transformer_forget(void *user)
{
    pk_transformer_forget(trained(user));
}

struct pk_epoch_model pk_epoch_of_transformer(struct pk_transformer *t, struct pk_epoch *e)
{
    t->loss_hook = (struct pk_loss_hook){pk_epoch_loss_begins, e};
    return (struct pk_epoch_model){.user = e,
                                   .trained = t,
                                   .forward = transformer_forward,
                                   .backward = transformer_backward,
                                   .clear = transformer_clear,
                                   .update = transformer_update,
                                   .forget = transformer_forget,
                                   .loss = t->loss,
                                   .gradients = t->g,
                                   .elements = t->layout.elements,
                                   .batch = t->c.batch,
                                   .seq = t->c.seq};
}
