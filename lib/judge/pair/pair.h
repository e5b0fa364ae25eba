/* Pair: pairs of measured cases and their ratios.
 *
 * Two runs are paired by identity: experiment, probe revision, variant, device class, and the axes that differ from their birth
 * defaults. Within one run, cases are paired across the values of one axis (or of `variant`) against its first value.
 *
 * A figure is the value of a metric from one invocation: iterations inside a process are not independent repetitions. The ratio of two
 * runs, or of two cases of one, is new / base of the medians over the invocations, as in the tables of a run; its interval follows from
 * the ends of both, and is missing with fewer than three invocations. pk_judge then gives the verdicts, and the ratio that was judged where
 * a side is several runs or both were measured in turns. */
#pragma once

#include "base/err.h"
#include "stats/verdict/verdict.h"
#include "store/read/figures.h"

/* How base and new were measured, the best last. */
enum pk_design {
    PK_DESIGN_STORED, /* apart: a run is one figure */
    PK_DESIGN_WITHIN, /* cases of one run: processes that measured both are pairs, and the ratio is that of the medians */
    PK_DESIGN_PAIRS, /* in turns: invocation k of base and of new are a pair */
    PK_DESIGN_GATE,  /* in turns: first all cases, then again those that looked suspicious */
};

struct pk_compare_options {
    const char *const *
        metrics; /* by name; none = every metric of class time, except the host time of a region that has a device time */
    size_t n_metrics;
    bool all_metrics;
    const char *by; /* axis, or "variant"; NULL in pk_compare_runs */
    const char *
        base; /* by "variant": the one that others are compared with; NULL, or none of the run's = the first */
    bool
        by_ordinal; /* between runs that were planned together: the n-th case of one is the n-th of the other */
    bool allow_missing;    /* what base has and new lacks is no failure */
    double level;          /* of intervals: 0.95 */
    enum pk_design design; /* how base and new were measured */
};

/* The metrics of one run, in the order of its cases. */
struct pk_compare_side {
    const char *name; /* for messages: "run 12" */
    const struct pk_figures *v;
    size_t n;
    const struct pk_unfinished_case *unfinished; /* its cases that did not end ok */
    size_t n_unfinished;
    size_t n_runs; /* above 1: figures are those of this number of runs, the newest last */
};

struct pk_compared {
    const struct pk_figures *base, *new_;
    const char *entry; /* of the suite, which may measure one case in two ways; NULL = no suite */
    const char *value; /* of the axis compared by, of new_; NULL between runs */
    const char *place; /* "seq_len=256 d_model=16": the axes in which the compared cases differ; "" = none */
    struct pk_ratio ratio; /* NaN when a figure is not positive */
    double speedup;        /* > 1 is better; NaN for metrics without direction */

    const struct pk_threshold *threshold; /* that holds for it; NULL = none */
    double min_effect,
        min_change; /* of this row, for pk_judge; 0 = the rule's, none. Of exact figures min_effect is the tolerance */
    size_t max_pairs;            /* likewise; 0 = the rule's */
    size_t base_runs, new_runs;  /* PK_DESIGN_STORED: above 1, figures are those of so many runs */
    bool unstable;               /* a side's figures are (store/read/figures.h) */
    bool closed;                 /* no process will measure it again */
    bool judged;                 /* false for metrics without direction */
    bool hidden;                 /* counted and not shown: --only-changed */
    struct pk_decision decision; /* of pk_judge */
    struct pk_ratio
        tail[PK_TAILS]; /* of pk_find_moved_tails: that moved while the median did not; 0 = not so */
};

/* The geometric mean of the ratios of one metric (and one value): every case counts the same. Where ratios are of medians, its ends are the
 * geometric means of theirs, because the cases of one process may err together. Else its interval is over invocations: NaN unless all cases
 * have two in common. */
struct pk_compare_mean {
    const char *metric, *unit, *direction;
    const char *value;
    size_t cases;
    struct pk_ratio ratio;
    double speedup;
};

/* A case, or a metric of one, that should have been compared and could not be. */
enum pk_failure_kind {
    PK_FAILED,         /* the side tried, and did not end ok */
    PK_MISSING,        /* the side does not have it, or not as base has it */
    PK_PARTLY_MISSING, /* the side has it in a smaller share of its processes than base; what is there is compared */
};
struct pk_failure {
    enum pk_failure_kind kind;
    bool allowed;      /* reported, and no reason for an exit status */
    const char *side;  /* "b", "new" */
    const char *entry; /* of the suite; NULL = no suite */
    const char *experiment;
    const char *variant, *axes; /* NULL = no one case */
    const char *metric;         /* NULL = all of them */
    const char *status;         /* "oom", "missing", "partly missing", "other unit", "other direction" */
    const char *message;        /* a sentence, or what the case reported */
};

struct pk_comparison {
    enum pk_design design;
    double level;           /* of intervals */
    const char *base_value; /* of the axis compared by; NULL between runs */
    const char *common;     /* "batch=8 causal=off": the axes in which the compared cases agree; "" = none */
    struct pk_compared *v;
    size_t n;
    const struct pk_compare_mean *means; /* where there are two cases or more */
    size_t n_means;
    const char *const
        *only_base; /* cases without a partner that are not expected of new, as "variant place" */
    size_t n_only_base;
    const char *const *only_new;
    size_t n_only_new;
    const char *const *metrics_base; /* likewise metrics of cases of both, as "metric of variant place" */
    size_t n_metrics_base;
    const char *const *metrics_new;
    size_t n_metrics_new;
    const char *const
        *not_judged; /* metrics with a direction that both sides have and that are not compared */
    size_t n_not_judged;
    /* Between two sides: what base has and new lacks: it must not count as the same. */
    const struct pk_failure *unmatched;
    size_t n_unmatched;
    const struct pk_compared
        *missing; /* its figures as rows, whose new_ is base's, too: thresholds may name them */
    size_t n_missing;
};
/* The first of them that the side tried (PK_FAILED), or of the other kinds, and that is not allowed; NULL = none. */
const struct pk_failure *pk_first_unmatched(const struct pk_comparison *c, bool failed);

/* How many of them are missing, wholly or partly, allowed or not. */
size_t pk_count_missing(const struct pk_comparison *c);

/* PK_E_USAGE for an unknown metric; PK_E_NOT_COMPARABLE, with the reason, when there is no pair at all and no case that new tried and did
 * not finish, or when one side lacks a selected metric. *out then has what is missing in new, unless it is base that lacks a metric. */
enum pk_code pk_compare_runs(const struct pk_compare_side *base, const struct pk_compare_side *new_,
                             const struct pk_compare_options *o, struct pk_arena *a,
                             struct pk_comparison *out, struct pk_err *err) PK_MUST_CHECK;

/* Several runs as one side: one figure per run (the geometric mean over its processes) instead of one per invocation, for every case of
 * any of them. n >= 1; one run stays as it is. */
struct pk_compare_side pk_compare_join(const struct pk_compare_side *runs, size_t n, const char *name,
                                       struct pk_arena *a);

/* Also PK_E_USAGE for an unknown axis. */
enum pk_code pk_compare_by(const struct pk_compare_side *run, const struct pk_compare_options *o,
                           struct pk_arena *a, struct pk_comparison *out, struct pk_err *err) PK_MUST_CHECK;

/* The median ratio of the rows in ns when at least five of them, more than four in five, changed in one direction by about as much (1 %
 * or more, and four times the median deviation from it): a common cause is then likely. 1 otherwise. */
double pk_common_shift(const struct pk_comparison *c, struct pk_arena *a);

/* The differences of the machines and settings of two runs, in words ("2 → 4 cores", "setting threads 2 → 4"): reasons to doubt ratios. */
size_t pk_compare_setups(const struct pk_run_facts *base, const struct pk_run_facts *new_, struct pk_arena *a,
                         const char *const **differences);

/* Traced kernels of one side; a case's newest trace counts. */
struct pk_compare_kernels {
    const struct pk_kernel_figure *v;
    size_t n;
};

/* The kernel or operation of a region that changed most in the same direction as the time: "softmax took 1.20 ms more (+34 %)", "...
 * less (gone)"; NULL when the row is no region's time, one side was not traced, or nothing changed so. One that a full list of the
 * longest leaves out counts as the shortest of them: "took at least 1.20 ms more". */
const char *pk_compare_kernel(const struct pk_compared *row, const struct pk_compare_kernels *base,
                              const struct pk_compare_kernels *new_, struct pk_arena *a);

/* Counters of two sides (pk_store_counter_figures), or of one across an axis (o->by, new_ NULL): pairs of every count that both have,
 * with their ratios; none when nothing was counted on either. There are no verdicts: a count is from one pass, and has no direction. */
void pk_compare_counters(const struct pk_compare_side *base, const struct pk_compare_side *new_,
                         const struct pk_compare_options *o, struct pk_arena *a, struct pk_comparison *out);

/* Which counts of a region's time changed most: "counted page_faults 3 -> 480, instructions +31 %", at most three; and what its clock cycles
 * say of the cause: "cycles +0 %: the clock changed ...". NULL when the row is no region's time, or none of its region
 * changed by 2 % and cycles say nothing. */
const char *pk_compare_counts(const struct pk_compared *row, const struct pk_comparison *counters,
                              struct pk_arena *a);

/* Times that perfkit measures for any command: wall_ns, user_ns, system_ns. Unless metrics are chosen, they are compared only where the
 * command reports no time itself (`others`), and then only the first one. */
bool pk_is_own_time(const char *metric);
bool pk_own_time_counts(const char *metric, bool others);

/* --- between the files of judge -------------------------------------------------------------------------------------- */

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

/* Whether the new side does not have the direction of the base: the opposite one, or none. Then neither can be called slower. What gained a
 * direction is not opposed. */
bool pk_figures_opposed(const struct pk_figures *base, const struct pk_figures *new_);
/* A sentence of these two; in_base: "in main", "on the base side". */
const char *pk_figures_opposed_text(const struct pk_figures *base, const struct pk_figures *new_,
                                    const char *in_base, const char *in_new, struct pk_arena *a);

/* Whether one is a program's own peak of memory, and the other the resident memory that perfkit measured. */
bool pk_figures_other_source(const struct pk_figures *x, const struct pk_figures *y);

/* The first figure of this metric; NULL = none. */
const struct pk_figures *pk_figures_of_metric(const struct pk_compare_side *side, const char *metric);

/* The figures that the options ask for. */
struct pk_compare_side pk_compare_select(const struct pk_compare_side *side,
                                         const struct pk_compare_options *o, struct pk_arena *a);

/* X_host_ns of a side that has X_ns, too. */
bool pk_is_host_twin(const struct pk_compare_side *side, const char *metric, struct pk_arena *a);

/* Whether the options select this figure of a side. */
bool pk_compare_selects(const struct pk_compare_side *side, const struct pk_figures *f,
                        const struct pk_compare_options *o, struct pk_arena *a);

/* PK_E_USAGE for a selected metric that the side does not have. */
enum pk_code pk_compare_check_metrics(const struct pk_compare_side *side, const struct pk_compare_options *o,
                                      struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;

/* The options with those of their metrics that the side has and that have a direction. Each other one is added to `wrong`, within `place`;
 * NULL = none. */
struct pk_compare_options pk_compare_metrics_to_judge(const struct pk_compare_side *side,
                                                      const struct pk_compare_options *o, const char *place,
                                                      struct pk_arena *a, struct pk_errs *wrong);

/* PK_E_USAGE for a selected metric that neither side has. */
enum pk_code pk_compare_check_known(const struct pk_compare_side *base, const struct pk_compare_side *new_,
                                    const struct pk_compare_options *o, struct pk_arena *a,
                                    struct pk_err *err) PK_MUST_CHECK;
/* PK_E_NOT_COMPARABLE for a selected metric that only the other side has. */
enum pk_code pk_compare_check_side(const struct pk_compare_side *side, const struct pk_compare_side *other,
                                   const struct pk_compare_options *o, struct pk_err *err) PK_MUST_CHECK;

/* --- tails.c: a row of "forward_ns:p99" has the p99 of each process as its figures; a metric that has this very name comes first --- */

/* A quantile of the processes as figures of their own; NULL when a process has none. */
const struct pk_figures *pk_figures_tail(const struct pk_figures *f, enum pk_tail t, struct pk_arena *a);

/* Whether --metric names this tail of a figure. */
bool pk_tail_selected(const struct pk_compare_side *side, const struct pk_figures *f, enum pk_tail t,
                      const struct pk_compare_options *o);

/* The side with figures of the tails that --metric names. */
struct pk_compare_side pk_compare_with_tails(const struct pk_compare_side *side,
                                             const struct pk_compare_options *o, struct pk_arena *a);

/* PK_E_NOT_COMPARABLE for such a tail, where a process of the metric has too few samples for it, or was recorded without. */
enum pk_code pk_compare_check_tails(const struct pk_compare_side *side, const struct pk_compare_options *o,
                                    struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;

/* The distance of the median of the processes to the farther end of its interval, as a share: the ± of tables. */
double pk_figures_uncertainty(const struct pk_figures *f);

/* Whether a side is several runs. */
bool pk_figures_of_runs(const struct pk_figures *base, const struct pk_figures *new_);

/* A row of two figures. Of single runs, or of two cases of one, their ratio is that of the medians, as the tables of a run have it; where a
 * side is several runs, that of the geometric means, which is what is judged. */
struct pk_compared pk_compare_figures(const struct pk_figures *base, const struct pk_figures *new_,
                                      double level);

/* Derived from the rows: their places and means. */
void pk_compare_finish(struct pk_compared *v, size_t n, const struct pk_compare_options *o,
                       struct pk_arena *a, struct pk_comparison *out);

/* Why two sides have no case in common, as PK_E_NOT_COMPARABLE. */
enum pk_code pk_not_comparable(const struct pk_compare_side *base, const struct pk_compare_side *new_,
                               struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;

/* Of a metric's direction: "lower", "higher", "none". */
bool pk_has_direction(const char *direction);
bool pk_higher_is_better(const char *direction);

/* new / base in terms of the metric's direction: > 1 is better. */
double pk_speedup(const char *direction, double ratio);

/* Means of v[0..n), over the invocations that all cases of a mean have; those of both sides, where they are pairs. */
size_t pk_compare_means(const struct pk_compared *v, size_t n, double level, enum pk_design design,
                        struct pk_arena *a, const struct pk_compare_mean **means);

/* The geometric mean of all figures, to the last digit where they are equal; their median, which tables show, when some are not positive. */
double pk_figures_centre(const struct pk_figures *f);

/* Of the figures now, whose `median` may be older. */
double pk_figures_median(const struct pk_figures *f, struct pk_arena *a);

/* The case of a row as it is printed: "flash n=2". */
const char *pk_case_text(const struct pk_figures *f, struct pk_arena *a);

/* Fills `unmatched`, `not_judged`, and the cases and metrics of one side. base and new_ hold all figures, whatever is compared: unless
 * metrics are chosen, those with a direction are missed, too. A case or metric that the newest run of a base of several lacks is not. Of
 * cases that differ in variant or axes (by_ordinal) no metric is missed: the plan has other metrics. */
void pk_compare_unmatched(const struct pk_compare_side *base, const struct pk_compare_side *new_,
                          const struct pk_compare_options *o, struct pk_arena *a, struct pk_comparison *out);

/* The cases of figures that stand together by case, as "variant place". */
const char *const *pk_case_texts(const struct pk_figures *const *v, size_t n, struct pk_arena *a,
                                 size_t *n_texts);

/* The key by which a figure is paired with its partner in another run. */
const char *pk_key_of(const struct pk_figures *f, const struct pk_compare_options *o, struct pk_arena *a);

/* The identity of a figure across runs, as one text. */
const char *pk_key_between_runs(const struct pk_figures *f, struct pk_arena *a);

/* Whether it is of a command's own case, which is named by its command line, or by --name. */
bool pk_figures_of_command(const struct pk_figures *f);

/* Whether equal work must give equal figures. */
bool pk_figures_exact(const struct pk_figures *f);
