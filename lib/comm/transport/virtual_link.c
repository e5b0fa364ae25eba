/* Virtual link: when an all-reduce will be over is known when it starts, so progress needs nobody.
 *
 * The virtual ranks all have what this process has: the mean over them is what is there already, to the bit. */
#include "comm/comm.h"

#include "base/rng.h"
#include "comm/transport/flight.h"

#include <math.h>

enum { DEFAULT_RANKS = 2 };

struct link {
    struct pk_virtual_link shape;
    struct pk_rng rng;
    uint64_t free_ns;        /* when the link has done what was started */
    struct pk_flight flight; /* where lanes are queues: the link keeps the communication lane busy */
};

double pk_comm_link_ns(const struct pk_virtual_link *l, unsigned ranks, double bytes)
{
    const double sent = bytes * 2 * (ranks - 1.0) / ranks;
    return (double)l->latency_ns + sent / l->bytes_per_s * 1e9;
}

static enum pk_code open_link(struct pk_comm *c, const struct pk_comm_options *o, struct pk_err *err)
{
    const struct pk_virtual_link *l = &o->link;
    if (!(l->bytes_per_s > 0 && l->jitter >= 0 && isfinite(l->bytes_per_s) && isfinite(l->jitter))) {
        pk_fail(err, PK_E_USAGE, "a link of %g bytes per second with jitter %g", l->bytes_per_s, l->jitter);
        pk_why(err, "bandwidth must be above 0, jitter 0 or more, and both must be finite");
        return pk_fix(err, "use for example 10 GB/s without jitter");
    }
    struct link *k = pk_new(&c->arena, struct link);
    k->shape = *l;
    k->rng.state = l->seed;
    c->impl = k;
    c->size = o->ranks ? o->ranks : DEFAULT_RANKS;
    c->processes = 1;
    if (pk_lanes_queue(c->dev))
        pk_flight_init(&k->flight, c);
    return PK_OK;
}

static void close_link(struct pk_comm *c)
{
    struct link *k = c->impl;
    if (k->flight.v)
        pk_flight_free(&k->flight);
}

static enum pk_code start(struct pk_comm *c, struct pk_reduce *r, struct pk_err *err)
{
    struct link *k = c->impl;
    double ns = pk_comm_link_ns(&k->shape, c->size, (double)r->bytes);
    if (k->shape.jitter > 0)
        ns *= exp(k->shape.jitter * pk_rng_normal(&k->rng));
    if (k->flight.v) {
        enum pk_code rc = pk_flight_begin(&k->flight, r, err);
        if (rc)
            return rc;
        pk_device_delay(k->flight.c->dev, PK_LANE_COMM, (uint64_t)llround(ns));
        return pk_flight_end(&k->flight, r, err);
    }
    r->began_ns = r->queued_ns > k->free_ns ? r->queued_ns : k->free_ns;
    r->ended_ns = k->free_ns = r->began_ns + (uint64_t)llround(ns);
    return PK_OK;
}

static enum pk_code wait(struct pk_comm *c, struct pk_reduce *r, struct pk_err *err)
{
    struct link *k = c->impl;
    if (k->flight.v)
        return pk_flight_wait(&k->flight, r, err);
    pk_pause_until(c->dev, r->ended_ns);
    return PK_OK;
}

static enum pk_code settle(struct pk_comm *c, struct pk_err *err)
{
    struct link *k = c->impl;
    return k->flight.v ? pk_flight_settle(&k->flight, NULL, err) : PK_OK;
}

const struct pk_comm_ops pk_comm_link = {
    .name = "link",
    .summary = "virtual ranks on a link of given latency and bandwidth",
    .open = open_link,
    .close = close_link,
    .start = start,
    .wait = wait,
    .settle = settle,
};
