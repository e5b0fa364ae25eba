/* GPU environment: the state of an NVIDIA GPU around each case, as notes of its slice: "state:gpu" and, where clocks were held back or
 * others computed on it, "doubts:gpu". Asked of NVML outside of everything that is timed; without NVML there are no notes, and doctor
 * says why. */
#pragma once

#include "counter/cuda/gpu_state.h"
#include "wire/slice.h"

struct pk_gpu_environment {
    const struct pk_counter_env *env; /* NULL = this machine's */
    struct pk_arena arena;            /* of the library, while it is open */
    const struct pk_nvml *nvml;
    pk_nvml_device gpu;
    bool asked; /* once: what is not there now is not there later */
    struct pk_gpu_state before;
};

/* Nothing happens for devices that are no NVIDIA GPU. */
void pk_gpu_environment_before(struct pk_gpu_environment *s, struct pk_device *dev);
/* Adds notes, in a, to a slice that ended ok. */
void pk_gpu_environment_after(struct pk_gpu_environment *s, struct pk_device *dev, struct pk_arena *a,
                              struct pk_slice *slice);
void pk_gpu_environment_end(struct pk_gpu_environment *s);

/* For tests: what two states say. */
void pk_gpu_environment_note(const struct pk_gpu_state *before, const struct pk_gpu_state *after,
                             struct pk_arena *a, struct pk_slice *slice);
