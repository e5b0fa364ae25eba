/* Export: the medians of runs in the formats of other services, as text.
 *
 *     openmetrics   OpenMetrics 1.0: a gauge per metric, which Prometheus and GitLab read
 *     bmf           Bencher Metric Format: benchmark -> measure -> value with its interval
 *     gab           github-action-benchmark, customSmallerIsBetter: metrics of which less is better
 *     gab-bigger    the same, customBiggerIsBetter: metrics of which more is better
 *
 * A benchmark is a case: its experiment, variant, and the axes that differ from their defaults, so that it has the same name in every run.
 * Values are in base units: nanoseconds and bytes; OpenMetrics has seconds. Cases without a result and values that are not known are left
 * out. docs/store.md describes the formats for users. */
#pragma once

#include "store/store.h"

/* Of runs[0..n) of the store, in the arena. PK_E_USAGE for a case that two of the runs have (OpenMetrics: none), because a benchmark has one
 * value; PK_E_NOTHING where there is no value. format: one of the names above. */
enum pk_code pk_export_text(struct pk_store *s, const char *format, const int64_t *runs, size_t n,
                            struct pk_arena *a, const char **text, struct pk_err *err) PK_MUST_CHECK;
