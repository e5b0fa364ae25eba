/* Counter: the table of sources. */
#include "counter/counter.h"

#include "counter/perf/command_events.h"

static const char *later(struct pk_arena *a)
{
    return "this version of perfkit does not read it";
}

/* NULL as soon as one event opens. */
static const char *cpu_events_unavailable(struct pk_arena *a)
{
    struct pk_cpu_count c[PK_CPU_EVENTS];
    pk_cpu_counts_open(c, 0, &pk_counter_host);
    pk_cpu_counts_close(c, &pk_counter_host);
    for (size_t i = 0; i < PK_CPU_EVENTS; i++)
        if (!c[i].error)
            return NULL;
    return pk_cpu_counts_absent(c, 0, PK_CPU_EVENTS, &pk_counter_host, a);
}

const struct pk_counter_source pk_counter_sources[] = {
    {"clock", "elapsed time of regions, on their lane and on the host", NULL},
    {"allocator", "current and peak bytes of device memory, from perfkit's own pool", NULL},
    {"process", "user and system time and peak memory of measured commands", NULL},
    {"kernel", "steal time and involuntary switches, to find disturbed samples", NULL},
    {"cpu_events", "events of the kernel and the processor in measured commands", cpu_events_unavailable},
    {"rapl", "energy of CPU packages", later},
    {"cupti", "hardware events, kernels and copies of NVIDIA GPUs", later},
    {"nvml", "clocks, power, temperature and throttling of NVIDIA GPUs", later},
    {NULL, NULL, NULL},
};
