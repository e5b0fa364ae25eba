/* Counted: what was counted of a command, as a slice of a counter pass. */
#pragma once

#include "counter/perf/command_events.h"
#include "wire/slice.h"

/* One sample per event that was counted. The notes "not_counted" (events with the reason), "user_only" and "scaled" (events) are
 * there when they have something to say. Skipped when nothing was counted.
 * Borrows the counts. */
struct pk_slice pk_counted(const struct pk_cpu_count counts[PK_CPU_EVENTS], const struct pk_counter_env *env,
                           int invocation, struct pk_arena *a);
