/* Environment: the state of the machine around each case that a worker measures, as notes of its slice.
 *
 * Before and after a case, outside of everything that is timed: state is read, and the CPUs that measure spin for 10 ms on the clock,
 * which shows what interruptions cost. The spin after a case is that before the next. The notes: "state" (pk_state_json) and,
 * where there is a reason, "doubts" (its words). A device without real time has no environment. */
#pragma once

#include "device/device.h"
#include "machine/state.h"
#include "wire/slice.h"

struct pk_environment {
    const unsigned *cpus, *n_cpus; /* those that measure: known once the device is open */
    struct pk_noise last;          /* the spin after the case before; spun_ns 0 = none yet */
    struct pk_state_span span;
};

void pk_environment_before(struct pk_environment *s, struct pk_device *dev, struct pk_arena *a);
/* Adds the notes to a slice that ended ok; a is that of before. */
void pk_environment_after(struct pk_environment *s, struct pk_device *dev, struct pk_arena *a,
                          struct pk_slice *slice);
/* For who has read the ends itself. */
void pk_environment_note(const struct pk_state_span *span, struct pk_arena *a, struct pk_slice *slice);
