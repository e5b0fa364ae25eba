/* Lane: order between lanes without waiting on the host, and graphs: work that is captured once and replayed.
 *
 * An event is a point in the order of a lane: other lanes can wait for it, the host can test whether it has passed, and it has a time.
 * On a device whose lanes are queues (cuda) it is an event of the device. On other devices work is complete when a call returns, so it is
 * a clock reading and has passed when it is recorded.
 *
 * Times are ns of the device's clock (pk_device_now_ns). Queues have their own clock, with another start and with drift:
 * pk_lanes_anchor, called while lanes are idle, synchronises the two. Between events, times are exact to 0.5 us plus 0.1 us per second
 * since the anchor. Between an event and the host, they are exact to a launch (some us) plus at most 100 us per second since the anchor. */
#pragma once

#include "device/device.h"

struct pk_lane_event {
    uint64_t ns;
    void *event; /* with queues, else NULL */
};

/* What a device kind whose lanes are queues fills; all required. */
struct pk_lane_ops {
    enum pk_code (*make)(struct pk_device *dev, struct pk_lane_event *p, struct pk_err *err);
    void (*drop)(struct pk_device *dev, struct pk_lane_event *p);
    enum pk_code (*record)(struct pk_device *dev, enum pk_lane lane, struct pk_lane_event *p,
                           struct pk_err *err);
    enum pk_code (*await)(struct pk_device *dev, enum pk_lane lane, const struct pk_lane_event *p,
                          struct pk_err *err);
    bool (*passed)(struct pk_device *dev, const struct pk_lane_event *p);
    uint64_t (*ns)(struct pk_device *dev, const struct pk_lane_event *p);
    enum pk_code (*anchor)(struct pk_device *dev, struct pk_err *err);
    enum pk_code (*call)(struct pk_device *dev, enum pk_lane lane, void (*fn)(void *user), void *user,
                         struct pk_err *err);
    void *(*pin)(struct pk_device *dev, size_t bytes);
    void (*unpin)(struct pk_device *dev, void *p);
};

/* True when calls only enqueue work in a lane. */
bool pk_lanes_queue(const struct pk_device *dev);

/* An event may be recorded many times. Not to be made in a timed region. */
enum pk_code pk_lane_event_make(struct pk_device *dev, struct pk_lane_event *p,
                                struct pk_err *err) PK_MUST_CHECK;
void pk_lane_event_drop(struct pk_device *dev, struct pk_lane_event *p); /* all zeros is allowed */
enum pk_code pk_lane_event_record(struct pk_device *dev, enum pk_lane lane, struct pk_lane_event *p,
                                  struct pk_err *err) PK_MUST_CHECK;
/* Work that is enqueued in the lane from now on begins after the last recording of the event. */
enum pk_code pk_lane_await(struct pk_device *dev, enum pk_lane lane, const struct pk_lane_event *p,
                           struct pk_err *err) PK_MUST_CHECK;
/* Only reads a state. Also true for a broken device, whose next check returns the error. */
bool pk_lane_event_passed(struct pk_device *dev, const struct pk_lane_event *p);
/* The time of an event that was recorded since the last anchor and has passed; 0 for queues without an anchor. */
uint64_t pk_lane_event_ns(struct pk_device *dev, const struct pk_lane_event *p);
enum pk_code pk_lanes_anchor(struct pk_device *dev, struct pk_err *err) PK_MUST_CHECK;

/* For devices with queues (asserted). Enqueues fn: it runs on a thread of the host, and the lane continues when it returns. fn may not
 * use the device. */
enum pk_code pk_lane_call(struct pk_device *dev, enum pk_lane lane, void (*fn)(void *user), void *user,
                          struct pk_err *err) PK_MUST_CHECK;
/* Host memory that a lane copies to and from asynchronously; NULL when refused. Freed at close at the latest. */
void *pk_lanes_pin(struct pk_device *dev, size_t bytes);
void pk_lanes_unpin(struct pk_device *dev, void *p); /* NULL is allowed */

/* --- graphs --------------------------------------------------------------------------------------------------------- */

/* Work that is captured once and replayed many times, for devices whose launches cost host time.
 *
 * Between pk_graph_begin and pk_graph_end, work on the compute lane (and lanes that wait for it) is recorded, not run. It may not sync,
 * copy from pageable memory, or reserve new device memory: run it once before, so that the pool is warm and returns the same addresses
 * again. Marks inside become nodes that record their events at each replay. pk_graph_supported is false on a device without graphs;
 * callers then run the work itself. */
struct pk_graph {
    void *exec;            /* of the device kind */
    struct pk_tape tape;   /* declared work of the captured ops and copies */
    struct pk_trace taped; /* dev->trace during the capture */
    struct pk_trace *before;
};

/* What a device kind with graphs fills; all required. */
struct pk_graph_ops {
    enum pk_code (*begin)(struct pk_device *dev, struct pk_err *err);
    enum pk_code (*end)(struct pk_device *dev, enum pk_code work, void **exec, struct pk_err *err);
    enum pk_code (*replay)(struct pk_device *dev, void *exec, struct pk_err *err);
    void (*drop)(struct pk_device *dev, void *exec);
};

bool pk_graph_supported(const struct pk_device *dev);
enum pk_code pk_graph_begin(struct pk_device *dev, struct pk_err *err) PK_MUST_CHECK;
/* Instantiates and uploads. In dev->arena. work: what the captured work returned; if that is an error, the capture is dropped and the
 * error returned. */
enum pk_code pk_graph_end(struct pk_device *dev, enum pk_code work, struct pk_graph **out,
                          struct pk_err *err) PK_MUST_CHECK;
/* Asynchronous. The marks of the capture are the marks of this replay. With dev->trace, the declared work of the captured ops is
 * recorded again, by region and family. */
enum pk_code pk_graph_replay(struct pk_device *dev, struct pk_graph *g, struct pk_err *err) PK_MUST_CHECK;
void pk_graph_free(struct pk_device *dev, struct pk_graph *g);
