/* Select: turns --counters into plans of events to count and metrics to derive from the counts.
 *
 *     --counters cpu-basic,page_faults,skx::INST_RETIRED:ANY_P
 *
 * names groups (group.h), sources (all of their events), events of any source, and raw names that a source understands. The events of a group are planned together,
 * source by source, so that what a formula divides was counted in one pass wherever the hardware can. Something that cannot be
 * counted here is no error: it is among the missing, with reason and fix, and the rest is counted. */
#pragma once

#include "counter/group.h"
#include "counter/source.h"

/* Where the value of a formula's name is. */
struct pk_metric_input {
    enum { PK_INPUT_COUNT, PK_INPUT_GIVEN, PK_INPUT_MISSING } kind;
    size_t plan, event; /* COUNT: plans[plan].events[event]; GIVEN: event is an enum pk_given */
};

struct pk_counter_metric {
    const char *group, *name, *unit, *summary;
    const struct pk_formula *formula;
    const struct pk_metric_input *inputs; /* of formula->names */
    const char *apart; /* why its value is approximate: not counted at once; "" = counted at once */
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

/* What of `text` can be counted here. PK_E_USAGE for an unknown name (with the nearest one), for one that is given twice, and for an empty
 * text. In the arena.
 *
 * command: of a command that perfkit starts, so by sources with open_command alone; events of the others are missing. Where there are two
 * kinds of cores, those of the other kind are counted as well.
 *
 * text NULL: task clock, faults, switches, migrations, cycles, instructions, branches, and misses of branches and of the last cache, with
 * the metrics of all groups that follow from them. */
enum pk_code pk_counters_select(const struct pk_counter_env *env, const char *text, bool command,
                                struct pk_arena *a, struct pk_counters *out,
                                struct pk_err *err) PK_MUST_CHECK;

/* The value of a metric from counts[plan][event] (NaN = absent; counts[plan] NULL = not counted) and given[PK_GIVENS]. NaN when it
 * is not known: *missing then says for want of what. */
double pk_counter_metric_value(const struct pk_counter_metric *m, const double *const *counts,
                               const double *given, struct pk_arena *a, const char **missing);
