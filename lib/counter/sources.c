/* Sources: the table, this machine's environment, and lookup of events by name. */
#include "counter/sources.h"

#include "base/text/words.h"
#include "device/device.h"

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
    &pk_source_gpu_usage,    /* NVML, a thread */
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

size_t pk_source_events(const struct pk_source *s, const struct pk_counter_env *env, struct pk_arena *a,
                        const struct pk_event **out)
{
    *out = s->events;
    return s->list ? s->list(env, a, out) : s->n_events;
}

struct pk_source_found pk_found_error(const struct pk_err *err, struct pk_arena *a)
{
    return (struct pk_source_found){PK_SOURCE_UNAVAILABLE, err->number, pk_strdup(a, err->why),
                                    *err->fix ? pk_strdup(a, err->fix) : NULL};
}

enum pk_code pk_events_find(const struct pk_source *s, const char *const *names, size_t n, struct pk_arena *a,
                            struct pk_event **out, size_t *index, struct pk_err *err)
{
    *out = pk_new_n(a, struct pk_event, n);
    for (size_t k = 0; k < n; k++) {
        const char **names_of_source = pk_new_n(a, const char *, s->n_events);
        size_t i = 0;
        for (; i < s->n_events && strcmp(s->events[i].name, names[k]) != 0; i++)
            names_of_source[i] = s->events[i].name;
        if (i == s->n_events) {
            pk_fail(err, PK_E_USAGE, "%s: there is no event '%.100s'", s->name, names[k]);
            pk_why(err, "%s", pk_suggest_text(a, names[k], names_of_source, s->n_events));
            return pk_fix(err, "perfkit list counters");
        }
        (*out)[k] = s->events[i];
        index[k] = i;
    }
    return PK_OK;
}

enum pk_code pk_source_plan_needs_gpu(const struct pk_source_plan *p, const struct pk_device *dev,
                                      struct pk_err *err)
{
    if (dev && dev->kind == PK_DEVICE_CUDA)
        return PK_OK;
    pk_fail(err, PK_E_UNAVAILABLE, "%s cannot be counted", p->events[0].name);
    pk_why(err, "it can only be counted on NVIDIA GPUs, and this device is not one");
    return pk_fix(err, "use --device cuda, or omit it");
}

enum pk_code pk_source_plan_table(const struct pk_source *s, const struct pk_counter_env *env,
                                  const char *const *events, size_t n, struct pk_arena *a,
                                  const struct pk_source_plan **plans, size_t *n_plans, struct pk_err *err)
{
    struct pk_event *found;
    size_t *index = pk_new_n(a, size_t, n);
    if (pk_events_find(s, events, n, a, &found, index, err))
        return err->code;
    pk_source_plan_one(s, found, n, index, a, plans, n_plans);
    return PK_OK;
}

void pk_source_plan_one(const struct pk_source *s, const struct pk_event *events, size_t n, void *state,
                        struct pk_arena *a, const struct pk_source_plan **plans, size_t *n_plans)
{
    struct pk_source_plan *p = pk_new(a, struct pk_source_plan);
    *p = (struct pk_source_plan){.source = s, .events = events, .n = n, .passes = 1, .state = state};
    *plans = p;
    *n_plans = 1;
}
