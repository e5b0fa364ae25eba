/* Sysfs: events of units beside the cores, as the kernel describes them below /sys/bus/event_source/devices. */
#pragma once

#include "counter/perf/reader.h"

struct pk_sysfs_event {
    struct pk_perf_code code;
    double scale; /* of a count, to the unit */
    const char *unit;
};

/* Event `event` of unit `pmu` ("power", "energy-pkg"); false when there is none, or its description is not understood. */
bool pk_sysfs_event(const char *root, const char *pmu, const char *event, struct pk_arena *a,
                    struct pk_sysfs_event *out);

/* The CPUs on which the unit is to be asked, one for each socket: its cpumask; CPU 0 where it has none. */
size_t pk_sysfs_cpus(const char *root, const char *pmu, struct pk_arena *a, const int **cpus);

/* The units whose name matches ("uncore_imc_*"), by name. */
size_t pk_sysfs_units(const char *root, const char *pattern, struct pk_arena *a, const char *const **names);
