/* Group: events that belong together, and the metrics that are derived from them. Each is a section of lib/counter/groups.txt, which is
 * part of the program; docs/counters.md describes the format. */
#pragma once

#include "counter/formula.h"

/* Values for formulas besides events. */
enum pk_given {
    PK_GIVEN_TIME_NS,          /* of the same work in timing passes, because counting slows down */
    PK_GIVEN_PASS_NS,          /* of the same work in the counter pass */
    PK_GIVEN_FLOPS,            /* declared */
    PK_GIVEN_BYTES,            /* declared */
    PK_GIVEN_PEAK_FLOPS_PER_S, /* the device's measured ceilings */
    PK_GIVEN_PEAK_BYTES_PER_S,
    PK_GIVENS
};
extern const char *const pk_given_names[PK_GIVENS]; /* "time_ns", "flops", ... */

struct pk_group_metric {
    const char *name, *unit, *summary;
    const struct pk_formula *formula;
};

struct pk_group {
    const char *name, *title, *help;
    const char *const *events; /* required ones first */
    size_t n_required, n_events;
    const struct pk_group_metric *metrics;
    size_t n_metrics;
};

/* Parses one section without its heading. PK_E_USAGE with the line number. */
enum pk_code pk_group_parse(const char *name, const char *text, struct pk_arena *a, struct pk_group *out,
                            struct pk_err *err) PK_MUST_CHECK;

/* Every group of this build. In the arena. */
size_t pk_groups(struct pk_arena *a, const struct pk_group **out);
