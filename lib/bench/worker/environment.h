/* Environment: the state of the machine before and after each case that a worker measures, as notes of the slice.
 *
 * Before and after a case, outside of everything that is timed: state is read, and the CPUs that measure spin on the clock for a
 * twentieth of the case's longest time, from 2 to 10 ms, which shows what interruptions cost. The spin after a case is that before the
 * next. The notes: "state" (pk_state_json) and, where there is a reason, "doubts" (its words). A device without real time has no
 * environment. */
#pragma once

#include "counter/cuda/nvml/gpu_state.h"
#include "device/device.h"
#include "machine/state.h"
#include "wire/slice.h"

struct pk_environment {
    const unsigned *cpus, *n_cpus; /* those that measure: known once the device is open */
    struct pk_noise last;          /* the spin after the case before; spun_ns 0 = none yet */
    uint64_t spin_ns;              /* of this case */
    struct pk_state_span span;
};

void pk_environment_before(struct pk_environment *s, struct pk_device *dev, int64_t max_time_ns,
                           struct pk_arena *a);
/* Adds the notes to a slice that ended ok; a is the state before. */
void pk_environment_after(struct pk_environment *s, struct pk_device *dev, struct pk_arena *a,
                          struct pk_slice *slice);
/* The same for a span that the caller has read. */
void pk_environment_note(const struct pk_state_span *span, struct pk_arena *a, struct pk_slice *slice);

/* Appends a note to a slice; its notes are then in the arena. */
void pk_slice_add_note(struct pk_slice *slice, const char *key, const char *json, struct pk_arena *a);

/* GPU environment: the state of an NVIDIA GPU around each case, as notes of its slice: "state:gpu" and, where clocks were reduced or
 * other processes used it, "doubts:gpu". Read from NVML outside of everything that is timed; without NVML there are no notes, and doctor
 * says why. */
struct pk_gpu_environment {
    const struct pk_counter_env *env; /* NULL = this machine's */
    struct pk_arena arena;            /* of the library, while it is open */
    const struct pk_nvml *nvml;
    pk_nvml_device gpu;
    bool tried; /* set once: a missing library stays missing */
    struct pk_gpu_state before;
};

/* Nothing happens for devices that are no NVIDIA GPU. */
void pk_gpu_environment_before(struct pk_gpu_environment *s, struct pk_device *dev);
/* Adds notes, in a, to a slice that ended ok. */
void pk_gpu_environment_after(struct pk_gpu_environment *s, struct pk_device *dev, struct pk_arena *a,
                              struct pk_slice *slice);
void pk_gpu_environment_end(struct pk_gpu_environment *s);
