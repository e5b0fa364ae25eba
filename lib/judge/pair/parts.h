/* Pair, parts: shared by the files of this folder and private to them. */
#pragma once

#include "base/arena.h"
#include "judge/pair/pair.h"

/* "cuda" of "cuda:0": devices are paired by class. */
const char *pk_device_class(const char *device, struct pk_arena *a);

/* The value of an axis in JSON axes as text ("256", "fp32", "on"); NULL when it is absent. */
const char *pk_axis_text(const char *axes, const char *axis, struct pk_arena *a);

/* `axes` without one axis, as canonical JSON. */
const char *pk_axes_without(const char *axes, const char *axis, struct pk_arena *a);

/* Names every axis that occurs in figures. */
size_t pk_axes_of(const struct pk_figures *v, size_t n, struct pk_arena *a, const char *const **names);

/* Axes in JSON as printed text: "n=2 dtype=bf16". */
const char *pk_axes_words(const char *axes, struct pk_arena *a);

/* The same for each of v, but only the axes in which they differ, or that some lack. */
const char *const *pk_axes_differing(const struct pk_figures *const *v, size_t n, struct pk_arena *a);

/* Fills `place` of every row: the axes in which rows differ, except `by`. Returns the axes that all rows have with equal values. n >= 1. */
const char *pk_compare_places(struct pk_compared *v, size_t n, const char *by, struct pk_arena *a);

/* Whether higher is better for one and worse for the other: then neither can be called slower. */
bool pk_figures_opposed(const struct pk_figures *x, const struct pk_figures *y);

/* The figures that the options ask for. */
struct pk_compare_side pk_compare_select(const struct pk_compare_side *side,
                                         const struct pk_compare_options *o, struct pk_arena *a);

/* Whether the options select this figure of a side. */
bool pk_compare_wants(const struct pk_compare_side *side, const struct pk_figures *f,
                      const struct pk_compare_options *o, struct pk_arena *a);

/* PK_E_USAGE for a selected metric that the side does not have. */
enum pk_code pk_compare_check_metrics(const struct pk_compare_side *side, const struct pk_compare_options *o,
                                      struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;

/* The options with those of their metrics that the side has and that have a direction. Each other one is added to `wrong`, within `place`;
 * NULL = none. */
struct pk_compare_options pk_compare_metrics_to_judge(const struct pk_compare_side *side,
                                                      const struct pk_compare_options *o, const char *place,
                                                      struct pk_arena *a, struct pk_errs *wrong);

/* PK_E_USAGE for a selected metric that neither side has; PK_E_NOT_COMPARABLE for one that only one of them has. */
enum pk_code pk_compare_check_sides(const struct pk_compare_side *base, const struct pk_compare_side *new_,
                                    const struct pk_compare_options *o, struct pk_arena *a,
                                    struct pk_err *err) PK_MUST_CHECK;

/* A row of two figures, with their ratio. */
struct pk_compared pk_compare_figures(const struct pk_figures *base, const struct pk_figures *new_,
                                      double level);

/* Derived from the rows: their places and means. */
void pk_compare_finish(struct pk_compared *v, size_t n, const struct pk_compare_options *o,
                       struct pk_arena *a, struct pk_comparison *out);

/* Why two sides have no case in common, as PK_E_NOT_COMPARABLE. */
enum pk_code pk_not_comparable(const struct pk_compare_side *base, const struct pk_compare_side *new_,
                               struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;

/* new / base in terms of the metric's direction: > 1 is better. */
double pk_speedup(const char *direction, double ratio);

/* Means of v[0..n), over the invocations that all cases of a mean have; those of both sides, where they are pairs. */
size_t pk_compare_means(const struct pk_compared *v, size_t n, double level, enum pk_design design,
                        struct pk_arena *a, const struct pk_compare_mean **means);

/* The geometric mean of all figures, to the last digit where they are equal; their median, which tables show, when some are not positive. */
double pk_figures_centre(const struct pk_figures *f);

/* The case of a row as it is said: "flash n=2". */
const char *pk_case_text(const struct pk_figures *f, struct pk_arena *a);

/* Figures without a partner, in the order of their side. */
struct pk_unmatched_figures {
    const struct pk_figures **v;
    size_t n;
};
/* Fills `unmatched` and `metrics_new`, and removes these from the lists: the rest are cases that the other side never had. base and new_
 * hold all figures, whatever is compared. */
void pk_compare_unmatched(const struct pk_compare_side *base, const struct pk_compare_side *new_,
                          struct pk_unmatched_figures *of_base, struct pk_unmatched_figures *of_new,
                          const struct pk_compare_options *o, struct pk_arena *a, struct pk_comparison *out);

/* The key by which a figure is paired with its partner in another run. */
const char *pk_key_of(const struct pk_figures *f, const struct pk_compare_options *o, struct pk_arena *a);

/* The identity of a figure across runs, as one text. */
const char *pk_key_between_runs(const struct pk_figures *f, struct pk_arena *a);
