/* Check: results against the plain reference before anything is timed. Inner part of measure.c. */
#pragma once

#include "bench/measure/measure.h"

/* Runs the case once at each of the probe's check points, its other axes unchanged, and compares fully. Points that the probe
 * skips on this device are left out. Errors say which point. */
enum pk_code pk_check_points(const struct pk_measure *m, struct pk_err *err) PK_MUST_CHECK;

/* The case at a check point ("seq_len=7 d_model=3"): every axis not named as in c. Usage errors for unknown axes and values. */
enum pk_code pk_check_case(const struct pk_case *c, const char *point, struct pk_arena *a,
                           struct pk_case *out, struct pk_err *err) PK_MUST_CHECK;
