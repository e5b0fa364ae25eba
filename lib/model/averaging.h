/* Averaging: one step of data-parallel training whose gradients are averaged between ranks, in six ways.
 *
 * The work is either a timer that leaves the core free, like a host whose GPU computes: gradient t is ready when its share of the
 * backward time has passed (model/gradients.h). Or it is a transformer's forward and backward pass, with a hook that is called when each
 * gradient is complete.
 *
 * On a device whose lanes are queues (device/lane.h) the timer is a kernel that leaves the rest of the chip free; a whole step is
 * enqueued without waiting, and the host waits once, after it. Times come from the device's events.
 *
 * Contiguous ways use one array in the order of readiness; a bucket is a part of it, of whole gradients or cut anywhere (split). Gradients are views of it, or separate arrays that
 * are copied in and back. The device makes the copies, and compute continues after them. A transformer's fp32 gradients already are such
 * an array, from its end to its beginning. In bf16 each gradient is narrowed when it is complete, into the array if gradients are views,
 * and stays there: an optimizer reads it as it is. */
#pragma once

#include "comm/bucket.h"
#include "comm/comm.h"
#include "device/lane.h"
#include "model/gradients.h"
#include "model/training.h"

enum pk_averaging_way {
    PK_AVERAGE_NONE,      /* nothing is sent */
    PK_AVERAGE_NAIVE,     /* after backward, one all-reduce a tensor, each waited for */
    PK_AVERAGE_COALESCED, /* after backward, all tensors in one call */
    PK_AVERAGE_FLAT,      /* after backward, one array */
    PK_AVERAGE_OVERLAP,   /* during backward, one all-reduce a tensor */
    PK_AVERAGE_BUCKET,    /* during backward, one all-reduce a bucket */
    PK_AVERAGING_WAYS
};

enum pk_averaging_work { PK_WORK_TIMER, PK_WORK_TRANSFORMER };

/* Regions of a step; a way has only those that apply to it. */
enum pk_averaging_region {
    PK_REGION_STEP,
    PK_REGION_FORWARD,
    PK_REGION_BACKWARD,
    PK_REGION_FLATTEN,    /* copies in, of FLAT */
    PK_REGION_ALL_REDUCE, /* after backward */
    PK_REGION_WAIT,       /* for all-reduces that were started during backward */
    PK_REGION_COPY_BACK
};

struct pk_averaging_options {
    enum pk_averaging_way way;
    enum pk_dtype type;
    bool copy;             /* contiguous ways: gradients are not views */
    size_t cap, first_cap; /* BUCKET: elements, as in pk_buckets_plan */
    bool split;            /* BUCKET: as in pk_buckets_split */
    enum pk_averaging_work work;
    uint64_t forward_ns, backward_ns; /* TIMER */
    struct pk_training *training;     /* TRANSFORMER: outlives the averaging, which sets its hook */
};

bool pk_averaging_contiguous(enum pk_averaging_way way);
bool pk_averaging_has(const struct pk_averaging_options *o, enum pk_averaging_region region);

struct pk_averaging {
    struct pk_device *dev;
    struct pk_comm *comm;
    struct pk_averaging_options o;
    const struct pk_gradients *gradients; /* those of the training, if there is one */
    struct pk_buckets buckets;            /* BUCKET: those; FLAT: one; else one a tensor */
    struct pk_bucket_progress bucket_progress;
    char *flat, **grad;       /* device memory: the contiguous array or NULL; each gradient */
    const size_t *before;     /* elements of the gradients that are ready before each gradient */
    const uint64_t *ready_ns; /* TIMER: when each gradient becomes ready, from the start of backward */
    struct pk_reduce *reduces;
    struct pk_part *parts;
    struct pk_averaging_moments {
        struct pk_lane_event backward_began, backward_ended, compute_ended, comm_ended, *made;
    } moments; /* on the compute lane; the times below are read from them after the step */
    uint64_t backward_began_ns, backward_ended_ns; /* of the last step, by the device's clock */
    uint64_t *made_ns;   /* when each gradient was complete, from the start of backward */
    uint64_t *least_ns;  /* [reduces] the shortest of all steps, from began to ended */
    uint64_t comm_ns;    /* of the last step: sum over all-reduces */
    uint64_t exposed_ns; /* from the end of backward, or of flatten, to the end of the last all-reduce */
    uint64_t reduces_n, reduced_bytes;
};

/* Device bytes that it takes, as the pool counts them, without those of the training. */
int64_t pk_averaging_bytes(const struct pk_averaging_options *o, const struct pk_gradients *g);

/* Host memory in the arena. Fills the gradients with the values that pk_averaging_check expects, unless `dry` (the device computes
 * nothing). Call pk_averaging_free at the end, also after a failure. */
enum pk_code pk_averaging_new(struct pk_device *dev, struct pk_comm *comm,
                              const struct pk_averaging_options *o, const struct pk_gradients *g, bool dry,
                              struct pk_arena *a, struct pk_averaging *out, struct pk_err *err) PK_MUST_CHECK;
void pk_averaging_free(struct pk_averaging *v);

/* With marks of its regions. Never allocates. */
enum pk_code pk_averaging_step(struct pk_averaging *v, struct pk_err *err) PK_MUST_CHECK;

/* After the last step: checks that every gradient was sent exactly once and equals the result of a single process: all elements (full),
 * or some of every gradient. A training computes the gradients of every rank again; on virtual ranks the results are bitwise equal. */
enum pk_code pk_averaging_check(struct pk_averaging *v, bool full, uint64_t seed, struct pk_arena *a,
                                struct pk_err *err) PK_MUST_CHECK;
