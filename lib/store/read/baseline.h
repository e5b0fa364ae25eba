/* Baseline: a name for runs of one experiment, which can be used wherever a run is named (store.h).
 *
 * A pinned baseline is a list of runs, which pruning keeps. A moving baseline is the newest complete runs with a label or a tag, or recorded
 * on a branch. Every change is stored with its author and reason. Read them from v_baseline, v_baseline_run and v_baseline_change. */
#pragma once

#include "store/store.h"

struct pk_baseline_decision {
    const char *who;
    const char *reason; /* NULL: none was given, which `accept` refuses */
};

struct pk_baseline {
    const char *name; /* no number, no '@', ':' or ',' in it: those name runs in other ways; PK_E_USAGE */
    const char
        *follows; /* of a moving one: "label", "tag" (the pattern is "KEY=VALUE") or "branch"; NULL: pinned */
    const char *pattern; /* its experiment is that of the newest run that has it */
    int64_t newest;      /* at most so many */
    const int64_t *runs; /* of a pinned one: at least one, all of one experiment and over */
    size_t n_runs;
};

/* PK_E_USAGE over an existing name unless `replace`. */
enum pk_code pk_baseline_save(struct pk_store *s, const struct pk_baseline *b, bool replace,
                              const struct pk_baseline_decision *why, struct pk_err *err) PK_MUST_CHECK;

/* Adds runs to a pinned one; with `only` it stands for these alone from now on, and a moving one becomes pinned. */
enum pk_code pk_baseline_accept(struct pk_store *s, const char *name, const int64_t *runs, size_t n_runs,
                                bool only, const struct pk_baseline_decision *why,
                                struct pk_err *err) PK_MUST_CHECK;

/* Removes the name and its history, and no run. */
enum pk_code pk_baseline_remove(struct pk_store *s, const char *name, struct pk_err *err) PK_MUST_CHECK;

/* The names of all baselines, for suggestions; none if they cannot be read. In the arena. */
const char *const *pk_baseline_names(struct pk_store *s, struct pk_arena *a, size_t *n);
/* The id of a baseline. PK_E_USAGE, with the most similar names, if there is none of this name. */
enum pk_code pk_baseline_find(struct pk_store *s, const char *name, int64_t *id,
                              struct pk_err *err) PK_MUST_CHECK;
