/* Select: turns --counters into plans of events to count and metrics to derive from the counts.
 *
 *     --counters cpu-basic,page_faults,skx::INST_RETIRED:ANY_P
 *
 * can name groups (group.h), sources (all of their events), events of any source, and raw names that a source supports. The events of a
 * group are planned together for each source, so that the events of a formula are counted in one pass if the hardware can do so. A
 * counter that is unavailable here is not an error: it is listed in `missing` with reason and fix, and the others are counted. */
#pragma once

#include "counter/group.h"
#include "counter/source.h"

/* Where the value of a name in a formula comes from. */
struct pk_metric_input {
    enum { PK_INPUT_COUNT, PK_INPUT_GIVEN, PK_INPUT_MISSING } kind;
    size_t plan, event; /* COUNT: plans[plan].events[event]; GIVEN: event is an enum pk_given */
};

struct pk_counter_metric {
    const char *group, *name, *unit, *summary;
    const struct pk_formula *formula;
    const struct pk_metric_input *inputs; /* of formula->names */
    const char *
        apart; /* why its value is approximate: its events were counted in different passes; "" = in one pass */
};

/* A group or event that is not counted here. */
struct pk_unavailable_counter {
    const char *name; /* "cpu-basic", "cycles" */
    const char *why;
    const char *fix; /* NULL = nothing to do */
};

struct pk_counters {
    const struct pk_source_plan *plans; /* counted one after the other, each in passes of its own */
    size_t n_plans;
    const struct pk_counter_metric *metrics;
    size_t n_metrics;
    const struct pk_unavailable_counter *missing;
    size_t n_missing;
};

/* The counters of `text` that are available here. PK_E_USAGE for an unknown name (with the nearest one), a name that is given twice, and
 * an empty text. In the arena.
 *
 * other: for a process that is not ours: only sources with open_other can count it; events of others are missing. On CPUs with
 * two kinds of cores, both kinds are counted.
 *
 * text NULL = task clock, faults, switches, migrations, cycles, instructions, branches, and misses of branches and of the last cache,
 * with the metrics of all groups that follow from them. */
enum pk_code pk_counters_select(const struct pk_counter_env *env, const char *text, bool other,
                                struct pk_arena *a, struct pk_counters *out,
                                struct pk_err *err) PK_MUST_CHECK;

/* The value of a metric from counts[plan][event] (NaN = not counted; counts[plan] NULL = plan not counted) and given[PK_GIVENS]. NaN
 * when it is unknown: *missing is then the input that is missing. */
double pk_counter_metric_value(const struct pk_counter_metric *m, const double *const *counts,
                               const double *given, struct pk_arena *a, const char **missing);
