/* Compare, rows: prints a comparison. Part of the compare command. */
#pragma once

#include "judge/report/report.h"
#include "out/out.h"

/* The runs that are compared, a row each; then, as notes, where their machines and settings differ. */
void pk_compare_begin_runs(struct pk_out *out);
void pk_compare_run_row(struct pk_out *out, const char *side, const struct pk_run_facts *r);
void pk_compare_print_differences(struct pk_out *out, const char *const *differences, size_t n, bool refused,
                                  struct pk_arena *a);

/* One table per unit ("compare_ns", "compare_bytes", "compare" for plain numbers), geometric means last. by: the axis compared by. */
void pk_compare_print(struct pk_out *out, const struct pk_comparison *c, const char *by, struct pk_arena *a);

/* Likewise of pk_compare_counters: "counters_ns", "counters_bytes", "counters" ...; nothing when nothing was counted. */
void pk_compare_print_counters(struct pk_out *out, const struct pk_comparison *c, const char *by,
                               struct pk_arena *a);

/* What could not be compared, as the table "not_compared"; nothing when there is none. */
void pk_failures_print(const struct pk_failure *v, size_t n, struct pk_out *out);
