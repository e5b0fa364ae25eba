/* Flight: all-reduces on a device whose lanes are queues: the host enqueues them and continues.
 *
 * An all-reduce waits for the work that was on the compute lane when it was started, and runs on the communication lane, which only
 * all-reduces use. To wait for it, the compute lane is made to wait. The transport enqueues the all-reduce between begin and end; the
 * rest is here. Times are recorded as lane events and read by settle. Private to lib/comm/transport. */
#pragma once

#include "comm/comm.h"
#include "device/lane.h"

enum {
    PK_FLIGHT_MAX = 4096
}; /* all-reduces whose times one settle can read; the largest model has 327 tensors */

struct pk_flight {
    struct pk_comm *c;
    struct pk_flight_slot {
        struct pk_lane_event queued, began, ended;
        struct pk_reduce *r;
        bool made, passed; /* passed: queued and began are not recorded: they are equal to ended */
    } * v;                 /* all-reduce number n is in v[n % PK_FLIGHT_MAX]; events are made at first use */
    uint64_t n;            /* begun since the last settle */
};

void pk_flight_init(struct pk_flight *f, struct pk_comm *c);
/* Nothing is running. */
void pk_flight_free(struct pk_flight *f);

enum pk_code pk_flight_begin(struct pk_flight *f, struct pk_reduce *r, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_flight_end(struct pk_flight *f, const struct pk_reduce *r, struct pk_err *err) PK_MUST_CHECK;
/* Replaces begin, end and wait for an all-reduce that sends nothing: it ends when the compute lane reaches it. */
enum pk_code pk_flight_pass(struct pk_flight *f, struct pk_reduce *r, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_flight_wait(struct pk_flight *f, const struct pk_reduce *r, struct pk_err *err) PK_MUST_CHECK;

/* Returns when all have ended, with their times set. `wrong`, if not NULL, is called repeatedly during the wait and once after it; its
 * error ends the wait and is returned. PK_E_TIMEOUT after the comm's timeout. */
typedef enum pk_code pk_flight_check_fn(struct pk_comm *c, struct pk_err *err);
enum pk_code pk_flight_settle(struct pk_flight *f, pk_flight_check_fn *wrong,
                              struct pk_err *err) PK_MUST_CHECK;

/* "rank 1: WHAT did not end within 60 s", for every transport. */
enum pk_code pk_comm_late(const struct pk_comm *c, const char *what, struct pk_err *err);
