/* GPU events: perfkit's names for what an NVIDIA GPU counts, and what each is called on the chips. */
#pragma once

#include "counter/cuda/chip.h"

struct pk_gpu_event {
    struct pk_event event; /* of the source gpu-counters; .native is the metric on this chip */
    bool adds;             /* occurrences can be summed; else it is an average or a share */
    double scale;          /* from CUPTI's unit: 0.01 for percent */
    bool outside;          /* counted at the links, which share no configuration with the chip's own units */
};

/* Every name that is known, whatever the chip; native is the first spelling. */
size_t pk_gpu_events_all(struct pk_arena *a, const struct pk_event **out);

/* A name of perfkit's or a metric as the vendor writes it ("sm__cycles_active.avg"), on this chip. PK_E_USAGE for what can be neither,
 * PK_E_UNAVAILABLE for what this chip has not. */
enum pk_code pk_gpu_event_find(const struct pk_chip_counters *k, const char *name, struct pk_arena *a,
                               struct pk_gpu_event *out, struct pk_err *err) PK_MUST_CHECK;

/* Could the name be one of this source's, without asking a chip? PK_E_USAGE when not. */
enum pk_code pk_gpu_event_looks(const char *name, struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
