/* Chip: what a GPU can count and in how many passes, from CUPTI's Host functions, which need neither a GPU nor a driver. */
#pragma once

#include "counter/cuda/cupti.h"

struct pk_chip_counters {
    const struct pk_cupti *cupti;
    const char *name; /* "GH100", which an H200 is as well */
    CUpti_Profiler_Host_Object *host;
};

/* What can be counted; of these metrics and no others. */
struct pk_chip_config {
    const char *const *metrics;
    size_t n;
    uint8_t *image;
    size_t image_bytes;
    unsigned passes;
};

/* availability: of the open device, so that what a MIG instance or a vGPU forbids is left out; NULL = all that the chip has. */
enum pk_code pk_chip_open(const struct pk_cupti *c, const char *name, const uint8_t *availability,
                          struct pk_chip_counters *out, struct pk_err *err) PK_MUST_CHECK;
void pk_chip_close(struct pk_chip_counters *k);

/* Is this a metric of the chip? Asking leaves no trace; adding one that is none would spoil the object. *summary is CUPTI's own, NULL =
 * not wanted. */
bool pk_chip_has(const struct pk_chip_counters *k, const char *metric, const char **summary);

/* Metrics that pk_chip_has. A chip object makes one configuration. */
enum pk_code pk_chip_configure(const struct pk_chip_counters *k, const char *const *metrics, size_t n,
                               struct pk_arena *a, struct pk_chip_config *out,
                               struct pk_err *err) PK_MUST_CHECK;

/* The chip that env names, or that of its GPU: in the arena. */
enum pk_code pk_chip_here(const struct pk_counter_env *env, const struct pk_cupti *c, struct pk_arena *a,
                          const char **name, struct pk_err *err) PK_MUST_CHECK;

/* --- names of events -------------------------------------------------------------------------------------------------- */

/* Perfkit's names for what an NVIDIA GPU counts, and what each is called on the chips. */
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
