/* Sources: the table, and what stands for this machine. */
#include "counter/sources.h"

#include <string.h>

const struct pk_counter_env pk_counter_host = {.root = "/"};

const char *pk_counter_root(const struct pk_counter_env *env)
{
    return env->root ? env->root : "/";
}

const struct pk_source *const pk_sources[] = {
    &pk_source_memory,       /* peaks */
    &pk_source_rusage,       /* getrusage */
    &pk_source_sw_events,    /* perf_event, software */
    &pk_source_cpu_events,   /* perf_event, cores */
    &pk_source_energy,       /* perf_event, sockets */
    &pk_source_uncore,       /* perf_event, sockets */
    &pk_source_gpu_state,    /* NVML */
    &pk_source_gpu_trace,    /* CUPTI, activity */
    &pk_source_gpu_counters, /* CUPTI, replayed */
    &pk_source_fake,         /* tests */
    NULL,
};

const struct pk_source *pk_source_find(const char *name)
{
    for (const struct pk_source *const *s = pk_sources; *s; s++)
        if (!strcmp((*s)->name, name))
            return *s;
    return NULL;
}
