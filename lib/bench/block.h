/* Block: "axis=sweep axis=sweep", as probes write presets and check points. */
#pragma once

#include "opt/axis.h"

/* Adds one "axis=sweep" to sweeps[axis]. Unknown axes, bad values and an axis that has a sweep already are usage errors. */
enum pk_code pk_block_assign(const struct pk_axis *axes, const char *assignment, struct pk_arena *a,
                             struct pk_sweep *sweeps, struct pk_err *err) PK_MUST_CHECK;

/* Adds every assignment of text. */
enum pk_code pk_block_parse(const struct pk_axis *axes, const char *text, struct pk_arena *a,
                            struct pk_sweep *sweeps, struct pk_err *err) PK_MUST_CHECK;
