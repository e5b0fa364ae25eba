/* Flight: a ring of lane events, and the one place where a host waits for a queue. */
#include "comm/transport/flight.h"

#include "base/clock.h"
#include "base/err.h"

#include <time.h>

#define NAP_NS 20000 /* between tests: leaves a core to the communication threads */

enum pk_code pk_comm_late(const struct pk_comm *c, const char *what, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const bool timed = pk_timed_region(false); /* there is nothing left to time */
    const char *missing = pk_rank_heartbeats_missing(c->heartbeats, &a);
    pk_timed_region(timed);
    pk_fail(err, PK_E_TIMEOUT, "rank %u: %s did not end within %.0f s", c->rank, what,
            (double)c->timeout_ns / 1e9);
    pk_why(err, "%s",
           missing ? missing : "another rank did not take part: it hangs, has ended, or runs something else");
    return pk_fix(err, "see the messages of the other ranks; all ranks must run the same case");
}

void pk_flight_init(struct pk_flight *f, struct pk_comm *c)
{
    *f = (struct pk_flight){.c = c, .v = pk_new_n(&c->arena, struct pk_flight_slot, PK_FLIGHT_MAX)};
}

void pk_flight_free(struct pk_flight *f)
{
    for (size_t i = 0; i < PK_FLIGHT_MAX && f->v[i].made; i++) {
        pk_lane_event_drop(f->c->dev, &f->v[i].queued);
        pk_lane_event_drop(f->c->dev, &f->v[i].began);
        pk_lane_event_drop(f->c->dev, &f->v[i].ended);
    }
}

static struct pk_flight_slot *slot_of(const struct pk_flight *f, uint64_t number)
{
    return &f->v[number % PK_FLIGHT_MAX];
}

static enum pk_code next_slot(struct pk_flight *f, struct pk_reduce *r, struct pk_flight_slot **out,
                              struct pk_err *err)
{
    struct pk_device *dev = f->c->dev;
    struct pk_flight_slot *s = *out = slot_of(f, f->n);
    r->number = f->n++;
    s->r = r;
    if (s->made)
        return PK_OK;
    s->made = true; /* in the first step, which is not a measured one */
    if (pk_lane_event_make(dev, &s->queued, err) || pk_lane_event_make(dev, &s->began, err))
        return err->code;
    return pk_lane_event_make(dev, &s->ended, err);
}

enum pk_code pk_flight_begin(struct pk_flight *f, struct pk_reduce *r, struct pk_err *err)
{
    struct pk_device *dev = f->c->dev;
    struct pk_flight_slot *s;
    if (next_slot(f, r, &s, err) || pk_lane_event_record(dev, PK_LANE_COMPUTE, &s->queued, err) ||
        pk_lane_await(dev, PK_LANE_COMM, &s->queued, err))
        return err->code;
    return pk_lane_event_record(dev, PK_LANE_COMM, &s->began, err);
}

enum pk_code pk_flight_end(struct pk_flight *f, const struct pk_reduce *r, struct pk_err *err)
{
    return pk_lane_event_record(f->c->dev, PK_LANE_COMM, &slot_of(f, r->number)->ended, err);
}

enum pk_code pk_flight_pass(struct pk_flight *f, struct pk_reduce *r, struct pk_err *err)
{
    struct pk_flight_slot *s;
    if (next_slot(f, r, &s, err))
        return err->code;
    s->passed = true;
    return pk_lane_event_record(f->c->dev, PK_LANE_COMPUTE, &s->ended, err);
}

enum pk_code pk_flight_wait(struct pk_flight *f, const struct pk_reduce *r, struct pk_err *err)
{
    return pk_lane_await(f->c->dev, PK_LANE_COMPUTE, &slot_of(f, r->number)->ended, err);
}

/* Numbers begin again, so that the next step uses the events of this one. */
enum pk_code pk_flight_settle(struct pk_flight *f, pk_flight_check_fn *wrong, struct pk_err *err)
{
    static const struct timespec nap = {.tv_nsec = NAP_NS};
    struct pk_device *dev = f->c->dev;
    const uint64_t deadline_ns = pk_clock_ns() + f->c->timeout_ns;
    if (f->n == 0)
        return PK_OK;
    while (!pk_lane_event_passed(dev, &slot_of(f, f->n - 1)->ended)) {
        if (wrong && wrong(f->c, err))
            return err->code;
        if (pk_clock_ns() > deadline_ns)
            return pk_comm_late(f->c, "an all-reduce", err);
        pk_rank_heartbeats_beat(f->c->heartbeats, f->c->rank);
        nanosleep(&nap, NULL);
    }
    if (wrong && wrong(f->c, err))
        return err->code;
    /* Of the last PK_FLIGHT_MAX: those before have lost their places. */
    const uint64_t oldest = f->n > PK_FLIGHT_MAX ? f->n - PK_FLIGHT_MAX : 0;
    for (uint64_t i = oldest; i < f->n; i++) {
        const struct pk_flight_slot *s = slot_of(f, i);
        s->r->ended_ns = pk_lane_event_ns(dev, &s->ended);
        s->r->queued_ns = s->passed ? s->r->ended_ns : pk_lane_event_ns(dev, &s->queued);
        s->r->began_ns = s->passed ? s->r->ended_ns : pk_lane_event_ns(dev, &s->began);
    }
    f->n = 0;
    return PK_OK;
}
