/* Axis file: the value of an axis that names a file. Inner part of axis.c. */
#pragma once

#include "opt/axis.h"

/* The word of the axis, or the path with the digest of what is there now. */
enum pk_code pk_axis_read_file(const struct pk_axis *axis, const char *text, struct pk_arena *a,
                               union pk_value *v, struct pk_err *err) PK_MUST_CHECK;
