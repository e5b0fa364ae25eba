/* Averaging: one step of data-parallel training whose gradients are averaged between ranks, in six ways.
 *
 * The work is a timer that leaves the core free, as a host does whose GPU computes: gradient t is ready when its share of the backward
 * pass has passed (model/gradients.h). Or it is a transformer's forward and backward pass, which says when each is complete.
 *
 * On a device whose lanes are queues (device/lane.h) the timer is a kernel that leaves the rest of the chip alone, all of a step is put
 * into lanes without waiting, and the host waits once, behind it. Times are those of the device's own events there.
 *
 * Contiguous ways have one array in the order of readiness, of which a bucket is a part; their gradients are views of it, or arrays of
 * their own that are copied in and back. Copies are made by the device and take its time: compute goes on behind them. A transformer's
 * fp32 gradients are such an array already, from its end to its beginning; in bf16 they are narrowed as each is complete, into the array
 * where gradients are views, and stay there: an optimizer reads them as they are. */
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

/* Regions of a step; a way has those that apply to it. */
enum pk_averaging_region {
    PK_REGION_STEP,
    PK_REGION_FORWARD,
    PK_REGION_BACKWARD,
    PK_REGION_FLATTEN,    /* copies in, of FLAT */
    PK_REGION_ALL_REDUCE, /* after backward */
    PK_REGION_WAIT,       /* for what was started during backward */
    PK_REGION_COPY_BACK,
    PK_AVERAGING_REGIONS
};

struct pk_averaging_options {
    enum pk_averaging_way way;
    enum pk_dtype type;
    bool copy;             /* contiguous ways: gradients are not views */
    size_t cap, first_cap; /* BUCKET: elements, as in pk_buckets_plan */
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
    const struct pk_gradients *gradients; /* of the training, where there is one */
    struct pk_buckets buckets;            /* BUCKET: those; FLAT: one; else one a tensor */
    struct pk_filling filling;
    char *flat, **grad;       /* device memory: the one array or NULL; each gradient */
    const size_t *before;     /* elements of those that are ready before each gradient */
    const uint64_t *ready_ns; /* TIMER: when each is to be ready, since backward began */
    struct pk_reduce *reduces;
    struct pk_part *parts;
    struct pk_averaging_moments {
        struct pk_moment backward_began, backward_ended, compute_ended, comm_ended, *made;
    } moments; /* on the compute lane; what follows is read of them when the step is over */
    uint64_t backward_began_ns, backward_ended_ns; /* of the last step, by the device's clock */
    uint64_t *made_ns;                             /* when each gradient was complete, since it began */
    uint64_t *least_ns;                            /* [reduces] the shortest since new, from began to ended */
    uint64_t comm_ns;                              /* of the last step: all-reduces added up */
    uint64_t exposed_ns; /* from the end of backward, or of flatten, to the end of the last all-reduce */
    uint64_t reduces_n, reduced_bytes;
};

/* Device bytes it will take, as the pool counts them: without the training's. */
int64_t pk_averaging_bytes(const struct pk_averaging_options *o, const struct pk_gradients *g);

/* Host memory in the arena. The gradients hold what pk_averaging_check expects to be averaged, unless the device is dry (computes
 * nothing). On failure, and at the end, pk_averaging_free. */
enum pk_code pk_averaging_new(struct pk_device *dev, struct pk_comm *comm,
                              const struct pk_averaging_options *o, const struct pk_gradients *g, bool dry,
                              struct pk_arena *a, struct pk_averaging *out, struct pk_err *err) PK_MUST_CHECK;
void pk_averaging_free(struct pk_averaging *v);

/* With marks of its regions. Never allocates. */
enum pk_code pk_averaging_step(struct pk_averaging *v, struct pk_err *err) PK_MUST_CHECK;

/* Behind the last step: was every gradient sent, once? And what a single process would have: all elements, or some of every gradient. A
 * training makes the gradients of every rank again; on virtual ranks the result is equal to the bit. */
enum pk_code pk_averaging_check(struct pk_averaging *v, bool full, uint64_t seed, struct pk_arena *a,
                                struct pk_err *err) PK_MUST_CHECK;
