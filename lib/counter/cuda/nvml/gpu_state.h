/* GPU state: clocks, power, temperature, reasons for reduced clocks, and whether other processes compute on the GPU, by NVML. */
#pragma once

#include "counter/cuda/nvml/nvml.h"

#include <math.h>

/* Reasons for reduced clocks with their total times: totals also contain reductions between two readings. */
enum { PK_GPU_HELDS = 5 };
struct pk_gpu_held {
    unsigned field;           /* of NVML */
    const char *name, *words; /* "power_cap_ns", "power cap" */
};
extern const struct pk_gpu_held pk_gpu_helds[PK_GPU_HELDS];

/* At one moment; NaN = not reported by the GPU. */
struct pk_gpu_state {
    double sm_hz, memory_hz;
    double watts; /* a mean of the last second on H100 and H200, of less before */
    double celsius;
    double joules;                /* since the driver was loaded: take differences */
    unsigned long long held_back; /* bits, see pk_gpu_held_back_words */
    double held_ns[PK_GPU_HELDS]; /* totals since the driver was loaded: take differences */
    uint64_t at_ns;               /* on our clock */
    unsigned others;              /* other processes that compute on it */
    bool others_known;
};

/* Values that the driver does not report are NaN. */
void pk_gpu_state_read(const struct pk_nvml *m, pk_nvml_device d, struct pk_gpu_state *out);

/* "power cap, thermal slowdown by software"; "" for none. Idleness is not a reason. In the arena. */
const char *pk_gpu_held_back_words(unsigned long long bits, struct pk_arena *a);
/* "power cap for 12 % of the time, ...": the reasons for more than 1 % of the time between two states; "" for none. */
const char *pk_gpu_held_between(const struct pk_gpu_state *before, const struct pk_gpu_state *after,
                                struct pk_arena *a);
/* The bits that make a timing doubtful: without idleness and without clocks that a user set. */
unsigned long long pk_gpu_held_back_doubtful(unsigned long long bits);
