/* Epoch: a training pass over a set of samples with gradient accumulation, and a validation pass.
 *
 * A micro-step is the forward and backward pass of one micro-batch; gradients of `accum` of them add up, are scaled once, averaged between
 * ranks, and end in a step of the optimizer. The last window may have fewer micro-steps, and its last micro-batch fewer samples or, on some
 * ranks, none: these take part in the all-reduces, so that nobody waits for ever. The mean is over the samples of the window. No checkpoints.
 *
 * Everything runs on the compute lane, where every region is marked: the times of parts add up to at most that of the whole, on the lane
 * as on the host. Without `overlapped` the host copies each micro-batch and waits for the copy. With it, threads make micro-batches ahead,
 * the copy lane copies the next one during a micro-step, and H2D is what the compute lane waits for the copy. */
#pragma once

#include "comm/comm.h"
#include "model/epoch/loader.h"
#include "model/transformer/transformer.h"

enum pk_epoch_region {
    PK_EPOCH,
    PK_EPOCH_TRAINING,
    PK_EPOCH_DATA,
    PK_EPOCH_H2D,
    PK_EPOCH_FORWARD,
    PK_EPOCH_LOSS,
    PK_EPOCH_BACKWARD,
    PK_EPOCH_ALL_REDUCE,
    PK_EPOCH_OPTIMIZER,
    PK_EPOCH_WAIT, /* the host waits for the device, after the last micro-step */
    PK_EPOCH_VALIDATION,
    PK_EPOCH_REGIONS
};

/* Device memory of a micro-batch. */
struct pk_epoch_input {
    int32_t *tokens, *targets;
    struct pk_lane_event there, used; /* overlapped: the copy, and the micro-step that reads it */
};

/* What is trained. Calls enqueue work on the compute lane; all required. */
struct pk_epoch_model {
    void *user;
    /* Writes the mean loss of n >= 1 sequences to *loss, and calls pk_epoch_loss_begins when its computation begins. */
    enum pk_code (*forward)(void *user, const struct pk_epoch_input *in, size_t n, bool keep,
                            struct pk_err *err);
    enum pk_code (*backward)(void *user, bool add, struct pk_err *err);
    enum pk_code (*clear)(void *user, struct pk_err *err); /* gradients = 0 */
    /* Gradients times factor, and a step of the optimizer. */
    enum pk_code (*update)(void *user, float factor, struct pk_err *err);
    void (*forget)(void *user);
    struct pk_transformer *trained; /* NULL: something else */
    float *loss, *gradients;        /* device memory; `elements` gradients */
    size_t elements, batch, seq;
};

struct pk_epoch_options {
    size_t accum;
    bool every; /* gradients are averaged after every micro-step, not only after the last one of a window */
    bool overlapped;    /* copies on the copy lane */
    size_t bucket;      /* elements of an all-reduce at most */
    bool virtual_ranks; /* all ranks have the samples of this one */
};

struct pk_epoch {
    struct pk_device *dev;
    struct pk_comm *comm;
    struct pk_loader *loader;
    struct pk_epoch_model model;
    struct pk_epoch_options o;
    size_t micro_steps, windows, validations, buckets;
    struct pk_epoch_input in[2]; /* [0] is the caller's */
    struct pk_reduce *reduces;   /* of a whole epoch */
    float *losses;               /* device memory: of each micro-step, then of those of validation */
    size_t reduces_n;            /* of the last epoch */
    bool marked, in_loss;        /* where forward is */
};

/* Host memory in the arena; device memory until pk_epoch_free, which is also called after a failure. `input` stays the caller's. */
enum pk_code pk_epoch_open(struct pk_epoch *e, struct pk_device *dev, struct pk_comm *comm,
                           struct pk_loader *loader, const struct pk_epoch_model *model,
                           const struct pk_epoch_options *o, const struct pk_epoch_input *input,
                           struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
void pk_epoch_free(struct pk_epoch *e);

/* With marks of its regions, which are the probe's first ones. Never allocates host memory. */
enum pk_code pk_epoch_run(struct pk_epoch *e, struct pk_err *err) PK_MUST_CHECK;

/* One micro-step, an all-reduce of every bucket and no update, unmarked: what a process does once. Returns when it is done. */
enum pk_code pk_epoch_first(struct pk_epoch *e, struct pk_err *err) PK_MUST_CHECK;

/* The first n micro-steps of an epoch, one by one and unmarked, with the steps of the optimizer that they end: for checks. losses as
 * of pk_epoch_losses, of which the first n are new. */
enum pk_code pk_epoch_replay(struct pk_epoch *e, size_t n, float *losses, struct pk_err *err) PK_MUST_CHECK;

void pk_epoch_loss_begins(void *epoch);

/* Losses of the last epoch, on the host: [e->micro_steps + e->validations]; those without samples are 0. Waits for the device. */
enum pk_code pk_epoch_losses(struct pk_epoch *e, float *losses, struct pk_err *err) PK_MUST_CHECK;

/* The model that trains t: its batch is the largest of a micro-step. e is the epoch that it will belong to. t->tokens and t->targets are
 * other memory after a run: set them back before pk_transformer_close. */
struct pk_epoch_model pk_epoch_of_transformer(struct pk_transformer *t, struct pk_epoch *e);
