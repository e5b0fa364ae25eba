/* Chip: what a GPU can count and in how many passes, from CUPTI's Host functions, which need neither a GPU nor a driver. */
#pragma once

#include "counter/cuda/cupti.h"

struct pk_chip_counters {
    const struct pk_cupti *cupti;
    const char *name; /* "GH100", which an H200 is as well */
    CUpti_Profiler_Host_Object *host;
};

/* The configuration for counting these metrics. */
struct pk_chip_config {
    const char *const *metrics;
    size_t n;
    uint8_t *image;
    size_t image_bytes;
    unsigned passes;
};

/* availability: of the open device, without the counters that a MIG instance or a vGPU does not allow; NULL = all counters of the chip. */
enum pk_code pk_chip_open(const struct pk_cupti *c, const char *name, const uint8_t *availability,
                          struct pk_chip_counters *out, struct pk_err *err) PK_MUST_CHECK;
void pk_chip_close(struct pk_chip_counters *k);

/* True if this is a metric of the chip. It does not change the object; adding an unknown metric would make it useless. *summary: CUPTI's
 * description; may be NULL. */
bool pk_chip_has(const struct pk_chip_counters *k, const char *metric, const char **summary);

/* For metrics for which pk_chip_has is true. One configuration for each chip object. */
enum pk_code pk_chip_configure(const struct pk_chip_counters *k, const char *const *metrics, size_t n,
                               struct pk_arena *a, struct pk_chip_config *out,
                               struct pk_err *err) PK_MUST_CHECK;

/* The chip named by env, or that of its GPU. In the arena. */
enum pk_code pk_chip_here(const struct pk_counter_env *env, const struct pk_cupti *c, struct pk_arena *a,
                          const char **name, struct pk_err *err) PK_MUST_CHECK;

/* --- names of events -------------------------------------------------------------------------------------------------- */

/* Perfkit's names for the counters of an NVIDIA GPU, and their names on this chip. */
struct pk_gpu_event {
    struct pk_event event; /* of the source gpu-counters; .native is the metric on this chip */
    bool adds;             /* occurrences can be summed; else it is an average or a share */
    double scale;          /* from CUPTI's unit: 0.01 for percent */
    bool outside; /* counted at the links, which cannot be configured together with the chip's other units */
};

/* Every name, for all chips; `native` is the first of its spellings. */
size_t pk_gpu_events_all(struct pk_arena *a, const struct pk_event **out);

/* Finds a perfkit name or a vendor's metric ("sm__cycles_active.avg") on this chip. PK_E_USAGE for a text that can be neither,
 * PK_E_UNAVAILABLE when the chip does not have it. */
enum pk_code pk_gpu_event_find(const struct pk_chip_counters *k, const char *name, struct pk_arena *a,
                               struct pk_gpu_event *out, struct pk_err *err) PK_MUST_CHECK;

/* PK_E_USAGE when the name cannot be an event of this source; needs no chip. */
enum pk_code pk_gpu_event_looks(const char *name, struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
