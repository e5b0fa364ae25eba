/* Sources: the rows of pk_sources (source.h), and what sources with a fixed table of events share. Used by lib/counter alone. */
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

/* A row of a source's events; behind the summary: quality, note, and the kind if they do not add up. */
#define PK_EVENT(source, name, unit, summary, ...)                                                           \
    {                                                                                                        \
        name, unit, summary, source, "", "", __VA_ARGS__                                                     \
    }

/* An unavailable source, for the reason of an error. */
struct pk_source_found pk_found_error(const struct pk_err *err, struct pk_arena *a);

/* The rows of the named events of s->events, in that order, in the arena; s->events[i] of out[k] in index[k]. PK_E_USAGE for a name that
 * is not there. */
enum pk_code pk_events_find(const struct pk_source *s, const char *const *names, size_t n, struct pk_arena *a,
                            struct pk_event **out, size_t *index, struct pk_err *err) PK_MUST_CHECK;

/* PK_E_UNAVAILABLE unless the plan is for an NVIDIA GPU, as all plans of its sources are. */
enum pk_code pk_plan_needs_gpu(const struct pk_source_plan *p, const struct pk_device *dev,
                               struct pk_err *err) PK_MUST_CHECK;

/* The hook plan of a source whose table of events can be counted all at once: one plan, whose state is the events' places in the table,
 * `const size_t *` of [n]. */
enum pk_code pk_plan_table(const struct pk_source *s, const struct pk_counter_env *env,
                           const char *const *events, size_t n, struct pk_arena *a,
                           const struct pk_source_plan **plans, size_t *n_plans,
                           struct pk_err *err) PK_MUST_CHECK;

/* One plan of one pass with these events. */
void pk_plan_one(const struct pk_source *s, const struct pk_event *events, size_t n, void *state,
                 struct pk_arena *a, const struct pk_source_plan **plans, size_t *n_plans);
