/* Comparison: case pairs, geometric means, counters and setups of two sides as rows of a writer. */
#pragma once

#include "judge/criteria/criteria.h"
#include "out/out.h"
#include "store/read/figures.h"
#include "json/json.h"

/* The runs that are compared, a row each; then, as notes, where their machines and settings differ. */
void pk_compare_begin_runs(struct pk_out *out);
void pk_compare_run_row(struct pk_out *out, const char *side, const struct pk_run_facts *r);
void pk_compare_print_differences(struct pk_out *out, const char *const *differences, size_t n, bool refused,
                                  struct pk_arena *a);

/* One line that sums up the verdicts, where the tables that follow may be short. */
void pk_compare_summary(struct pk_out *out, const struct pk_comparison *c, struct pk_arena *a);

/* One table per unit ("compare_ns", "compare_bytes", "compare" for plain numbers), geometric means last. by: the axis compared by. In a short output the
 * first is the outcome; what follows is detail, except pk_failures_print. */
void pk_compare_print(struct pk_out *out, const struct pk_comparison *c, const char *by, struct pk_arena *a);

/* The change that these tables report, read from what was printed as JSON: new / base of the row that changed most, of the slower ones if
 * there are any; worse is above 1. NaN when no row has a verdict and a ratio. */
double pk_compare_read_change(const json_t *printed);

/* Cases and metrics of one side that are no failures, and metrics of both that are not judged, as notes. */
void pk_compare_note_unmatched(struct pk_out *out, const struct pk_comparison *c, const char *by,
                               struct pk_arena *a);

struct pk_store;
/* Of two runs of equal sides: what processes and samples add to the noise of each calibrated row, and how many of both give an interval
 * within ± `interval` (0.01 = 1 %) of the median in the least time. Nothing where nothing was calibrated. */
enum pk_code pk_compare_print_components(struct pk_store *store, int64_t base_run, int64_t new_run,
                                         double interval, struct pk_arena *a, struct pk_out *out,
                                         struct pk_err *err) PK_MUST_CHECK;

/* The columns of a table of the rows in one unit: a copy, with the scale of their smallest figure and the axis compared by. hidden: hidden
 * rows are of the table, too. */
struct pk_column *pk_compare_columns(const struct pk_comparison *c, const struct pk_column *columns, size_t n,
                                     const char *by, const char *unit, bool hidden, struct pk_arena *a);

/* Likewise of pk_compare_counters: "counters_ns", "counters_bytes", "counters" ...; nothing when nothing was counted. */
void pk_compare_print_counters(struct pk_out *out, const struct pk_comparison *c, const char *by,
                               struct pk_arena *a);
