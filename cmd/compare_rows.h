/* Compare, rows: how a comparison is printed. Part of the compare command. */
#pragma once

#include "bench/compare/compare.h"

/* The runs that are compared and, as notes, where their machines and settings differ. new_ is NULL within one run. */
void pk_compare_print_runs(struct pk_out *out, const struct pk_run_facts *base,
                           const struct pk_run_facts *new_, struct pk_arena *a);

/* One table per unit ("compare_ns", "compare_bytes", "compare" for plain numbers), geometric means last. by: the axis compared by. */
void pk_compare_print(struct pk_out *out, const struct pk_comparison *c, const char *by, struct pk_arena *a);
