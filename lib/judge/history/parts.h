/* History parts: what the files of history share. Private to them. */
#pragma once

#include "judge/history/history.h"

/* The setup number of every run; *setups in their order, the return value is how many. */
size_t pk_history_setups(const struct pk_history_run *runs, size_t n, size_t *setup_of, struct pk_arena *a,
                         const struct pk_setup **setups);

/* Which cases of stored figures a filter wants. */
struct pk_case_filter;
/* The axes are those that `v` has: texts are words, whole numbers may be written as sizes. text NULL: everything. */
enum pk_code pk_case_filter_make(const char *text, const struct pk_figures *v, size_t n, struct pk_arena *a,
                                 struct pk_case_filter **out, struct pk_err *err) PK_MUST_CHECK;
bool pk_case_wanted(const struct pk_case_filter *f, const struct pk_figures *figures, struct pk_arena *a);
