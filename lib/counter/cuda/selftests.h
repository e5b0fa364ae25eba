/* Self-tests: known work on the first GPU, read by the sources that should count it. */
#pragma once

#include "counter/source.h"

struct pk_source_found pk_gpu_counters_selftest(const struct pk_counter_env *env, struct pk_arena *a);
struct pk_source_found pk_gpu_trace_selftest(const struct pk_counter_env *env, struct pk_arena *a);
