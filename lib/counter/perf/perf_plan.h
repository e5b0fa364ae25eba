/* Perf plan: what the sources of perf events share after planning: opening and reading a plan, and events that are sums of counts. */
#pragma once

#include "counter/perf/reader.h"

/* pk_source_plan.state of such a source. Event e is the sum of factors[k] * code k, from k = ends[e - 1] (0 for the first) to before
 * ends[e]. */
struct pk_perf_plan {
    struct pk_perf_group group;
    const double *factors; /* [group.n] */
    const size_t *ends;    /* [events] */
    bool real;             /* events are real numbers (joules, bytes of scaled counters), not integers */
    enum pk_perf_scope scope;
    uint64_t
        least_ns; /* counts over a shorter time are unavailable, because the counter moves in steps; 0 = no limit */
};

enum pk_code pk_perf_plan_open(const struct pk_counter_env *env, const struct pk_source_plan *p,
                               struct pk_device *dev, struct pk_arena *a, void **handle, struct pk_err *err);
enum pk_code pk_perf_plan_open_other(const struct pk_counter_env *env, const struct pk_source_plan *p,
                                     struct pk_other_process other, struct pk_arena *a, void **handle,
                                     struct pk_err *err);
enum pk_code pk_perf_plan_start(void *handle, struct pk_err *err);
enum pk_code pk_perf_plan_stop(void *handle, bool *again, struct pk_err *err);
void pk_perf_plan_mark(void *handle, unsigned region, bool end);
enum pk_code pk_perf_plan_read(void *handle, int region, struct pk_reading *out, struct pk_err *err);
void pk_perf_plan_close(void *handle);

/* The hooks of struct pk_source that follow plan. */
#define PK_PERF_PLAN_HOOKS                                                                                   \
    .open = pk_perf_plan_open, .open_other = pk_perf_plan_open_other, .start = pk_perf_plan_start,           \
    .stop = pk_perf_plan_stop, .mark = pk_perf_plan_mark, .read = pk_perf_plan_read,                         \
    .close = pk_perf_plan_close

/* If threads that are started later are not counted (pk_perf_inherits), adds a remark to the event or the source's state. */
void pk_perf_note_threads(struct pk_event *e, struct pk_arena *a);
struct pk_source_found pk_perf_found_threads(const struct pk_counter_env *env, struct pk_source_found found,
                                             struct pk_arena *a);

/* Reads one event over work(user), for self-tests. False when it could not be opened or did not count. */
bool pk_perf_count_work(const struct pk_counter_env *env, const struct pk_perf_group *g, void (*work)(void *),
                        void *user, struct pk_arena *a, struct pk_perf_count *counts);
