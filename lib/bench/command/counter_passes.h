/* Counter passes: counts the events of a command, as slices of counter passes.
 *
 * Plans of one source that want the same counters are counted one after the other, each in a run of the command; everything else at once.
 * So the command runs once for each round, and mostly there is one. */
#pragma once

#include "counter/select.h"
#include "wire/slice.h"
#include "json/json.h"

/* The round in which a plan is counted, and how many there are. */
size_t pk_counter_pass_of_plan(const struct pk_counters *c, size_t plan);
size_t pk_counter_pass_count(const struct pk_counters *c);

/* What a round counts, in the form of a request: [{"source": ..., "events": [...]}, ...]. New. */
json_t *pk_counter_pass_request(const struct pk_counters *c, size_t round);

/* The counting side. */
struct pk_counter_pass {
    const struct pk_counter_env *env;
    struct pk_arena *arena;
    struct pk_counter_pass_plan {
        const struct pk_source_plan *plan;
        void *handle; /* NULL = not open */
        struct pk_reading *v;
        const char *why; /* it was not counted; NULL = it was */
    } * plans;
    size_t n;
};

/* Plans what a request asks for. What cannot be planned or opened is marked unavailable in the slice, with its reason. PK_E_USAGE for a request of
 * another shape. */
enum pk_code pk_counter_pass_prepare(struct pk_counter_pass *c, const json_t *request,
                                     struct pk_err *err) PK_MUST_CHECK;
/* Before the process calls exec, and once it has ended. */
void pk_counter_pass_open(struct pk_counter_pass *c, pid_t pid);
void pk_counter_pass_end(struct pk_counter_pass *c);

/* One sample per event that was counted, and the note "counters": {"ran_ns": N, "events": {EVENT: {"why", "scaled_from"}}}. Skipped when
 * nothing was counted. In the arena. */
struct pk_slice pk_counter_pass_slice(const struct pk_counter_pass *c, int invocation, uint64_t ran_ns);
