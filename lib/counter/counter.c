/* Counter: the table of sources. */
#include "counter/counter.h"

#include <stddef.h>

#define LATER "this version of perfkit does not read it"

const struct pk_counter_source pk_counter_sources[] = {
    {"clock", "elapsed time of regions, on their lane and on the host", NULL},
    {"allocator", "current and peak bytes of device memory, from perfkit's own pool", NULL},
    {"process", "user and system time and peak memory of measured commands", NULL},
    {"kernel", "steal time and involuntary switches, to find disturbed samples", NULL},
    {"cpu_events", "hardware events of the CPU (perf_event, libpfm4)", LATER},
    {"rapl", "energy of CPU packages", LATER},
    {"cupti", "hardware events, kernels and copies of NVIDIA GPUs", LATER},
    {"nvml", "clocks, power, temperature and throttling of NVIDIA GPUs", LATER},
    {NULL, NULL, NULL},
};
