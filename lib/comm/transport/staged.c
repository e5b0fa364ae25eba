/* Staged: batches of parts through one buffer. */
#include "comm/transport/staged.h"

#include "base/clock.h"
#include "base/err.h"

#include <time.h>

enum pk_code pk_staged_open(struct pk_staged *s, struct pk_comm *c, struct pk_engine *engine,
                            pk_staged_fn *average, void *user, struct pk_err *err)
{
    *s = (struct pk_staged){.engine = engine, .average = average, .user = user};
    s->pinned = pk_lanes_pin(c->dev, PK_STAGED_BYTES);
    if (!s->pinned) {
        pk_fail(err, PK_E_OOM, "no pinned host memory for %d MiB of gradients", PK_STAGED_BYTES >> 20);
        pk_why(err, "the CUDA driver refuses it");
        return pk_fix(err, "free host memory, or raise ulimit -l");
    }
    s->batches = pk_new_n(&c->arena, struct pk_staged_batch, PK_STAGED_BATCHES);
    pk_flight_init(&s->flight, c);
    return PK_OK;
}

/* What is in the lane still calls. */
void pk_staged_close(struct pk_staged *s)
{
    struct pk_err ignored;
    const bool lost = pk_device_sync(s->flight.c->dev, &ignored) != PK_OK;
    pk_flight_free(&s->flight);
    if (!lost && !atomic_load(&s->late))
        pk_lanes_unpin(s->flight.c->dev, s->pinned);
}

/* --- on threads of the host --- */

static int average(void *user)
{
    const struct pk_staged_batch *b = user;
    return b->s->average(b->s->user, b->s->pinned, b->n, b->type);
}

/* After an error the transport gets no more calls: the lane empties, and settle returns the error. */
static void hand_over(void *user)
{
    struct pk_staged_batch *b = user;
    struct pk_staged *s = b->s;
    if (!atomic_load(&s->late) && !atomic_load(&s->rc)) {
        pk_engine_post(s->engine, &b->job);
        if (!pk_engine_wait(s->engine, &b->job, pk_clock_ns() + s->flight.c->timeout_ns))
            atomic_store(&s->late, true);
        else
            atomic_store(&s->rc, b->job.rc);
    }
    atomic_fetch_add(&s->done, 1);
}

/* --- into the lane --- */

/* A place in an all-reduce's parts. */
struct cursor {
    size_t part, element;
};

/* Copies up to the buffer's end, to it or from it, and moves the cursor on. Elements copied through *n. */
static enum pk_code copy(struct pk_staged *s, const struct pk_reduce *r, enum pk_copy dir, struct cursor *at,
                         size_t *n, struct pk_err *err)
{
    const size_t size = pk_dtype_bytes(r->type), most = PK_STAGED_BYTES / size;
    enum pk_code rc = PK_OK;
    for (*n = 0; !rc && at->part < r->n_parts && *n < most;) {
        const struct pk_part *p = &r->parts[at->part];
        const size_t left = p->n - at->element, m = left < most - *n ? left : most - *n;
        char *device = (char *)p->data + at->element * size, *host = s->pinned + *n * size;
        const bool in = dir == PK_COPY_DEVICE_TO_HOST;
        if (m)
            rc = pk_device_copy(s->flight.c->dev, PK_LANE_COMM, dir, in ? host : device, in ? device : host,
                                m * size, err);
        *n += m;
        *at = m == left ? (struct cursor){at->part + 1, 0} : (struct cursor){at->part, at->element + m};
    }
    return rc;
}

/* Room for one more: with a thousand under way the host may wait. */
static enum pk_code next_batch(struct pk_staged *s, struct pk_staged_batch **b, struct pk_err *err)
{
    static const struct timespec nap = {.tv_nsec = 100000};
    const uint64_t deadline_ns = pk_clock_ns() + s->flight.c->timeout_ns;
    while (s->posted - atomic_load(&s->done) >= PK_STAGED_BATCHES) {
        if (pk_clock_ns() > deadline_ns)
            return pk_comm_late(s->flight.c, "an all-reduce", err);
        pk_rank_heartbeats_beat(s->flight.c->heartbeats, s->flight.c->rank);
        nanosleep(&nap, NULL);
    }
    *b = &s->batches[s->posted++ % PK_STAGED_BATCHES];
    return PK_OK;
}

static enum pk_code put_batch(struct pk_staged *s, const struct pk_reduce *r, struct cursor *at,
                              struct pk_err *err)
{
    struct cursor back = *at;
    struct pk_staged_batch *b = NULL;
    size_t n;
    enum pk_code rc = copy(s, r, PK_COPY_DEVICE_TO_HOST, at, &n, err);
    if (!rc)
        rc = next_batch(s, &b, err);
    if (rc)
        return rc;
    *b = (struct pk_staged_batch){.job = {.call = average, .user = b}, .s = s, .n = n, .type = r->type};
    rc = pk_lane_call(s->flight.c->dev, PK_LANE_COMM, hand_over, b, err);
    return rc ? rc : copy(s, r, PK_COPY_HOST_TO_DEVICE, &back, &n, err);
}

enum pk_code pk_staged_start(struct pk_staged *s, struct pk_reduce *r, struct pk_err *err)
{
    struct cursor at = {0};
    enum pk_code rc = pk_flight_begin(&s->flight, r, err);
    do /* once at least: an empty array is a message too */
        rc = rc ? rc : put_batch(s, r, &at, err);
    while (!rc && at.part < r->n_parts);
    return rc ? rc : pk_flight_end(&s->flight, r, err);
}
