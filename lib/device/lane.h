/* Lane: order between lanes, without the host waiting for any of them; and one unit of work on them captured once and replayed.
 *
 * A moment is a place in a lane's order: other lanes can be made to wait for it, the host can look whether it has been passed, and it has
 * a time. On a device whose lanes are queues (cuda) a moment is an event and work goes on behind it while the host does something else; on
 * the others work has been done when a call returns, so a moment has been passed when it is recorded, and is a reading of the clock.
 *
 * Times are ns of the device's clock (pk_device_now_ns). A queue's own clock is another, which began at another time and drifts:
 * pk_lanes_anchor, called while lanes are idle, says where the two meet. A moment's time is exact to 0.5 us, and 0.1 us per second since
 * then, against other moments. Against the host it is exact to a launch (some us), and as far as the clocks have drifted apart since then:
 * by 100 us per second at most. */
#pragma once

#include "device/device.h"

struct pk_moment {
    uint64_t ns;
    void *event; /* of a queue's, else NULL */
};

/* What a device kind whose lanes are queues fills; all required. */
struct pk_lane_ops {
    enum pk_code (*make)(struct pk_device *dev, struct pk_moment *p, struct pk_err *err);
    void (*drop)(struct pk_device *dev, struct pk_moment *p);
    enum pk_code (*record)(struct pk_device *dev, enum pk_lane lane, struct pk_moment *p, struct pk_err *err);
    enum pk_code (*await)(struct pk_device *dev, enum pk_lane lane, const struct pk_moment *p,
                          struct pk_err *err);
    bool (*passed)(struct pk_device *dev, const struct pk_moment *p);
    uint64_t (*ns)(struct pk_device *dev, const struct pk_moment *p);
    enum pk_code (*anchor)(struct pk_device *dev, struct pk_err *err);
    enum pk_code (*call)(struct pk_device *dev, enum pk_lane lane, void (*fn)(void *user), void *user,
                         struct pk_err *err);
    void *(*pin)(struct pk_device *dev, size_t bytes);
    void (*unpin)(struct pk_device *dev, void *p);
};

/* True when calls only enqueue work in a lane. */
bool pk_lanes_queue(const struct pk_device *dev);

/* A moment may be recorded again and again. Making one is not for timed regions. */
enum pk_code pk_moment_make(struct pk_device *dev, struct pk_moment *p, struct pk_err *err) PK_MUST_CHECK;
void pk_moment_drop(struct pk_device *dev, struct pk_moment *p); /* all zeros is allowed */
enum pk_code pk_moment_record(struct pk_device *dev, enum pk_lane lane, struct pk_moment *p,
                              struct pk_err *err) PK_MUST_CHECK;
/* Work that is enqueued in the lane from now on begins after the moment, as last recorded. */
enum pk_code pk_lane_await(struct pk_device *dev, enum pk_lane lane, const struct pk_moment *p,
                           struct pk_err *err) PK_MUST_CHECK;
/* Only reads a state. Also true for a broken device, whose next check returns the error. */
bool pk_moment_passed(struct pk_device *dev, const struct pk_moment *p);
/* Of a moment that was recorded since the last anchor, and passed; of a queue that has none, 0. */
uint64_t pk_moment_ns(struct pk_device *dev, const struct pk_moment *p);
enum pk_code pk_lanes_anchor(struct pk_device *dev, struct pk_err *err) PK_MUST_CHECK;

/* For devices with queues (asserted). fn runs on some thread of the host when the lane comes to it, and the lane goes on when it returns; it
 * may not use the device. */
enum pk_code pk_lane_call(struct pk_device *dev, enum pk_lane lane, void (*fn)(void *user), void *user,
                          struct pk_err *err) PK_MUST_CHECK;
/* Host memory that a lane copies to and from asynchronously; NULL when refused. Freed at close at the latest. */
void *pk_lanes_pin(struct pk_device *dev, size_t bytes);
void pk_lanes_unpin(struct pk_device *dev, void *p); /* NULL is allowed */

/* --- graphs --------------------------------------------------------------------------------------------------------- */

/* One unit of work captured once and replayed as often as wanted, for devices whose launches cost host time.
 *
 * Between pk_graph_begin and pk_graph_end the work that ops put on the compute lane (and lanes that wait for it) is recorded, not
 * run. The work may not sync, copy from pageable memory, or reserve new device memory: run it once before, so that the pool is warm and hands
 * out the same addresses again. Marks inside become nodes that record their events anew at each replay. A device without graphs answers
 * pk_graph_supported false; callers then run the work itself. */
struct pk_graph {
    void *exec;            /* the kind's own */
    struct pk_tape tape;   /* what the captured ops and copies declare */
    struct pk_trace taped; /* dev->trace while it is captured */
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
/* Instantiates and uploads. In dev->arena. What the work returned is given so that a failed one is dropped: then its error stands. */
enum pk_code pk_graph_end(struct pk_device *dev, enum pk_code work, struct pk_graph **out,
                          struct pk_err *err) PK_MUST_CHECK;
/* Asynchronous. The marks of the capture are the marks of this replay. Where the device is traced, what the captured ops declared is written
 * down again, by region and family. */
enum pk_code pk_graph_replay(struct pk_device *dev, struct pk_graph *g, struct pk_err *err) PK_MUST_CHECK;
void pk_graph_free(struct pk_device *dev, struct pk_graph *g);
