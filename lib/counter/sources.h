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
extern const struct pk_source pk_source_gpu_usage;
extern const struct pk_source pk_source_fake;

/* A row of a source's events; after the summary: quality, note, and the kind unless it is PK_EVENT_SUM. */
#define PK_EVENT(source, name, unit, summary, ...)                                                           \
    {                                                                                                        \
        name, unit, summary, source, "", "", __VA_ARGS__                                                     \
    }

/* An unavailable source with the reason from an error. */
struct pk_source_found pk_found_error(const struct pk_err *err, struct pk_arena *a);

/* Finds the named events in s->events: out[k], in the arena, is the row of names[k] and index[k] its index. PK_E_USAGE for a name that
 * is not there. */
enum pk_code pk_events_find(const struct pk_source *s, const char *const *names, size_t n, struct pk_arena *a,
                            struct pk_event **out, size_t *index, struct pk_err *err) PK_MUST_CHECK;

/* PK_E_UNAVAILABLE unless dev is an NVIDIA GPU, which the plans of GPU sources need. */
enum pk_code pk_source_plan_needs_gpu(const struct pk_source_plan *p, const struct pk_device *dev,
                                      struct pk_err *err) PK_MUST_CHECK;

/* The hook `plan` of a source that can count all events of its table together: one plan, whose state is the events' indices in the
 * table, `const size_t *` of [n]. */
enum pk_code pk_source_plan_table(const struct pk_source *s, const struct pk_counter_env *env,
                                  const char *const *events, size_t n, struct pk_arena *a,
                                  const struct pk_source_plan **plans, size_t *n_plans,
                                  struct pk_err *err) PK_MUST_CHECK;

/* One plan of one pass with these events. */
void pk_source_plan_one(const struct pk_source *s, const struct pk_event *events, size_t n, void *state,
                        struct pk_arena *a, const struct pk_source_plan **plans, size_t *n_plans);
