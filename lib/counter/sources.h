/* Sources: the rows of pk_sources (source.h). Used by lib/counter alone. */
#pragma once

#include "counter/source.h"

extern const struct pk_source pk_source_memory;
extern const struct pk_source pk_source_rusage;
extern const struct pk_source pk_source_sw_events;
extern const struct pk_source pk_source_cpu_events;
extern const struct pk_source pk_source_energy;
extern const struct pk_source pk_source_uncore;
extern const struct pk_source pk_source_gpu_counters;
extern const struct pk_source pk_source_gpu_trace;
extern const struct pk_source pk_source_gpu_state;
extern const struct pk_source pk_source_fake;
