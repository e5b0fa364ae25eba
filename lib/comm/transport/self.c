/* Self: a single rank, whose all-reduce ends at once. */
#include "comm/transport/flight.h"

static enum pk_code open_self(struct pk_comm *c, const struct pk_comm_options *o, struct pk_err *err)
{
    c->size = c->processes = 1;
    if (o->ranks <= 1) {
        if (pk_lanes_queue(c->dev)) {
            c->impl = pk_new(&c->arena, struct pk_flight);
            pk_flight_init(c->impl, c);
        }
        return PK_OK;
    }
    pk_fail(err, PK_E_USAGE, "%u ranks by the transport self", o->ranks);
    pk_why(err, "the transport self has exactly one rank");
    return pk_fix(err, "use transport=link, which has any number of virtual ranks");
}

static void close_self(struct pk_comm *c)
{
    if (c->impl)
        pk_flight_free(c->impl);
}

/* A queue's lane arrives here later than the host does, so an event gives the time. */
static enum pk_code start(struct pk_comm *c, struct pk_reduce *r, struct pk_err *err)
{
    if (c->impl)
        return pk_flight_pass(c->impl, r, err);
    r->began_ns = r->ended_ns = r->queued_ns;
    return PK_OK;
}

static enum pk_code wait(struct pk_comm *c, struct pk_reduce *r, struct pk_err *err)
{
    return PK_OK;
}

static enum pk_code settle(struct pk_comm *c, struct pk_err *err)
{
    return c->impl ? pk_flight_settle(c->impl, NULL, err) : PK_OK;
}

const struct pk_comm_ops pk_comm_self = {
    .name = "self",
    .summary = "one rank: nothing is sent",
    .open = open_self,
    .close = close_self,
    .start = start,
    .wait = wait,
    .settle = settle,
};
