/* Case filter: selects the cases of stored figures for `history --filter`. */
#pragma once

#include "judge/history/history.h"

struct pk_case_filter;
/* The axes are those of `v`: texts are words, whole numbers may be written as sizes. text NULL: all cases. */
enum pk_code pk_case_filter_make(const char *text, const struct pk_figures *v, size_t n, struct pk_arena *a,
                                 struct pk_case_filter **out, struct pk_err *err) PK_MUST_CHECK;
bool pk_case_wanted(const struct pk_case_filter *f, const struct pk_figures *figures, struct pk_arena *a);
