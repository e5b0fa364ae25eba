/* Graph: one unit of work captured once and replayed as often as wanted, for devices whose launches cost host time.
 *
 * Between pk_graph_begin and pk_graph_end the work that ops put on the compute lane (and lanes that wait for it) is recorded, not
 * run. The work may not sync, copy from pageable memory, or reserve new device memory: run it once before, so that the pool is warm and hands
 * out the same addresses again. Marks inside become nodes that record their events anew at each replay. A device without graphs answers
 * pk_graph_supported false; callers then run the work itself. */
#pragma once

#include "device/device.h"

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
