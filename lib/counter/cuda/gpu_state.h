/* GPU state: clocks, power, temperature, why clocks are held back and who else is there, by NVML. */
#pragma once

#include "counter/cuda/nvml.h"

#include "device/device.h"

#include <math.h>

/* At one moment; NaN where the GPU does not say. */
struct pk_gpu_state {
    double sm_hz, memory_hz;
    double watts; /* a mean of the last second on H100 and H200, of less before */
    double celsius;
    double joules;                /* since the driver was loaded: take differences */
    unsigned long long held_back; /* bits, see pk_gpu_held_back_words */
    unsigned others;              /* processes that compute on it beside this one */
    bool mig;
};

/* The NVML handle of the open device, by its PCI id. */
enum pk_code pk_gpu_state_of(const struct pk_nvml *m, struct pk_device *dev, pk_nvml_device *out,
                             struct pk_err *err) PK_MUST_CHECK;
void pk_gpu_state_read(const struct pk_nvml *m, pk_nvml_device d, struct pk_gpu_state *out);

/* "power cap, thermal slowdown by software"; "" for none. Being idle is none. In the arena. */
const char *pk_gpu_held_back_words(unsigned long long bits, struct pk_arena *a);
/* Those that make a timing doubtful: not idleness, and not clocks that somebody chose. */
unsigned long long pk_gpu_held_back_doubtful(unsigned long long bits);
