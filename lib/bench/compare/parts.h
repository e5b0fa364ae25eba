/* Compare parts: what the files of compare share. Private to them. */
#pragma once

#include "bench/compare/compare.h"

/* "cuda" of "cuda:0": devices are paired by class. */
const char *pk_device_class(const char *device, struct pk_arena *a);

/* The value of an axis in JSON axes as text ("256", "fp32", "on"); NULL when it is absent. */
const char *pk_axis_text(const char *axes, const char *axis, struct pk_arena *a);

/* `axes` without one axis, as canonical JSON. */
const char *pk_axes_without(const char *axes, const char *axis, struct pk_arena *a);

/* Names every axis that occurs in figures. */
size_t pk_axes_of(const struct pk_figures *v, size_t n, struct pk_arena *a, const char *const **names);

/* Fills `place` of every row: the axes in which rows differ, but for `by`. Returns the axes in which they agree. n >= 1. */
const char *pk_compare_places(struct pk_compared *v, size_t n, const char *by, struct pk_arena *a);

/* The figures that the options ask for. PK_E_USAGE for a metric that nobody measured. */
enum pk_code pk_compare_select(const struct pk_compare_side *side, const struct pk_compare_options *o,
                               struct pk_arena *a, struct pk_compare_side *out,
                               struct pk_err *err) PK_MUST_CHECK;

/* Why two sides have no case in common, as PK_E_NOT_COMPARABLE. */
enum pk_code pk_not_comparable(const struct pk_compare_side *base, const struct pk_compare_side *new_,
                               struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;

/* new / base in terms of the metric's direction: > 1 is better. */
double pk_speedup(const char *direction, double ratio);

/* Means of v[0..n), which are sorted by metric and value within. */
size_t pk_compare_means(const struct pk_compared *v, size_t n, double level, struct pk_arena *a,
                        const struct pk_compare_mean **means);
