/* Store: one SQLite file of runs; the only user of sqlite3.h.
 *
 * Shape: run -> case -> slice -> series -> sample, with machines, settings, summaries and fits beside them.
 * schema/NNNN-*.sql creates the tables. docs/store.md documents the v_* views, which are the public interface.
 * Rollback journal, never WAL; STRICT tables; application_id and user_version are set; a file of a newer version is refused. Many
 * processes may write one file: every write is one short BEGIN IMMEDIATE transaction with a busy timeout. A store is used by one thread. */
#pragma once

#include "base/arena.h"
#include "out/out.h"
#include "stats/stats.h"
#include "wire/slice.h"

struct pk_store;
struct pk_rows;

enum pk_store_mode {
    PK_STORE_WRITE, /* created if missing (with its directory, if that is the default one); runs of dead processes are marked */
    PK_STORE_UPDATE,  /* the same for a file that must exist */
    PK_STORE_MIGRATE, /* the same, and an older schema is migrated wherever the file is */
    PK_STORE_READ,    /* the user's own store: read; its dead runs are marked if that is possible at once */
    PK_STORE_UNTRUSTED, /* FILE.db:REF, a file that may be hostile: mode=ro&immutable=1, defensive, limits, no trusted schema */
};

/* --db, PERFKIT_DB, $XDG_DATA_HOME/perfkit/perfkit.db, ~/.local/share/perfkit/perfkit.db; a usage error
 * without $HOME. */
enum pk_code pk_store_path(struct pk_arena *a, const char *option, const char **path,
                           struct pk_err *err) PK_MUST_CHECK;

/* What a call does while it waits for another process's lock, and what ends it. */
enum { PK_STORE_QUERY_LIMIT_S = 60 };
struct pk_store_wait {
    /* Called once per wait, after 1.5 s; may be NULL. The wait ends after timeout_ms. */
    void (*waiting)(void *user, const char *path, int64_t timeout_ms);
    void *user;
    /* Set by a signal handler; may be NULL. It ends a wait at once. A wait that begins later ends after one second, so that measured
     * values can still be written. Reading that goes on when it is set ends soon after (base/clock.h). The call then fails with
     * PK_E_INTERRUPTED. */
    const volatile int *stop_flag;
    /* A query without a new row for so long fails: a small file can have endless work in it. 0 = PK_STORE_QUERY_LIMIT_S. What reads the
     * whole of a file (check, merge, prune, migrate) has no limit. */
    int64_t query_limit_ns;
};

/* In every mode the schema of the file must be exactly the one that perfkit creates, its views and triggers included. An older schema is
 * migrated by PK_STORE_MIGRATE alone, or by the modes that write and PK_STORE_READ if the file is the one at the default place and belongs
 * to the user; every other older file is refused, with the command that migrates it.
 *
 * ":memory:" is a store without a file, which is lost when it is closed. `wait` is copied; with NULL a wait is silent. */
enum pk_code pk_store_open(const char *path, enum pk_store_mode mode, const struct pk_store_wait *wait,
                           struct pk_store **out, struct pk_err *err) PK_MUST_CHECK;
/* A SQLite file of another program, opened as one that may be hostile. It has none of perfkit's tables: only queries that name its own
 * (pk_query, pk_query_each) can be run, "main." before each of them; whether one is a table is in main.sqlite_master. */
enum pk_code pk_store_open_foreign(const char *path, const struct pk_store_wait *wait, struct pk_store **out,
                                   struct pk_err *err) PK_MUST_CHECK;
/* The error that opening with PK_STORE_WRITE would give, or PK_OK. Creates and migrates nothing; waits one second for a lock. */
enum pk_code pk_store_try(const char *path, struct pk_err *err) PK_MUST_CHECK;
void pk_store_close(struct pk_store *s); /* NULL is allowed */
static inline void pk_store_cleanup(struct pk_store **s)
{
    pk_store_close(*s);
}
#define PK_STORE_CLEANUP __attribute__((cleanup(pk_store_cleanup)))

/* Sets how long a call waits for another process's lock before it fails. A store is opened with 60 s. */
void pk_store_set_timeout(struct pk_store *s, int64_t ms);
const char *pk_store_file(const struct pk_store *s); /* the path it was opened with */

/* The schema version that the file had before it was opened (0: a new file), and the version that it has now. */
void pk_store_versions(const struct pk_store *s, int *found, int *now);

/* --- recording --- */

struct pk_run_info {
    const char *experiment;   /* "attention-scaling", "exec" */
    const char *label;        /* NULL = none */
    const char *command_line; /* as typed, shell-quoted */
    const char *settings;     /* JSON object: preset, stop rule, seed, invocations, budget ... */
    const char *tags;         /* JSON object of --tag */
    const char *machine;      /* canonical JSON (machine/machine.h): one row per distinct text */
    const char *topology;     /* of the machine: XML, kept once for each; NULL = unknown */
    const char *git_commit;   /* NULL outside a repository */
    int git_dirty;            /* -1 unknown */
    const char *git_branch;   /* NULL = none */
    const char *version;      /* of perfkit */
    const char *uuid;         /* 32 hexadecimal digits; NULL = a random one */
    int64_t started_ns;       /* 0 = now */
};

enum pk_code pk_store_run_begin(struct pk_store *s, const struct pk_run_info *r, int64_t *run_id,
                                struct pk_err *err) PK_MUST_CHECK;
/* What is recorded between the two is one transaction: all of it or, after an error (`code`) or a kill, nothing. */
enum pk_code pk_store_together(struct pk_store *s, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_store_together_end(struct pk_store *s, enum pk_code code, struct pk_err *err) PK_MUST_CHECK;
/* The uuid of the run that was begun last with this handle, "" for none. A run has the same uuid in every store. */
const char *pk_store_begun(const struct pk_store *s);
/* status: "complete", "interrupted", "failed". */
enum pk_code pk_store_run_end(struct pk_store *s, int64_t run_id, const char *status,
                              struct pk_err *err) PK_MUST_CHECK;

/* The same for a run that was marked interrupted because this store could not be written: if it has now as many slices that began since
 * then. Otherwise *experiment is NULL and nothing changes. */
struct pk_run_end {
    const char *status;
    int64_t since_ns, slices;
};
enum pk_code pk_store_run_end_spooled(struct pk_store *s, int64_t run_id, const struct pk_run_end *end,
                                      struct pk_arena *a, const char **experiment,
                                      struct pk_err *err) PK_MUST_CHECK;

struct pk_case_info {
    const char *experiment;
    int revision;
    const char *variant, *device;
    const char *axes;        /* JSON, all present axes, keys sorted */
    const char *identity;    /* JSON, those that differ from their birth default */
    int64_t predicted_bytes; /* -1 = none */
};
/* Records the planned cases of a run, in order, in one transaction. ids[i] becomes the id of cases[i]. */
enum pk_code pk_store_cases(struct pk_store *s, int64_t run_id, const struct pk_case_info *cases, size_t n,
                            int64_t *ids, struct pk_err *err) PK_MUST_CHECK;

/* The work that a probe declares for a metric of a case. Tables divide by it. */
struct pk_case_work {
    int64_t case_id;
    const char *metric; /* "forward_ns" */
    double flops, bytes, exps, messages;
    double predicted; /* of the metric itself (bytes gauges); NaN = none */
};
enum pk_code pk_store_works(struct pk_store *s, const struct pk_case_work *w, size_t n,
                            struct pk_err *err) PK_MUST_CHECK;

/* Summary of a metric: over the steady samples of one invocation (a slice), or over the invocations of a case. */
struct pk_summary_row {
    const char *metric; /* declared by the slice's metrics */
    struct pk_summary sum;
    double tail[PK_TAILS]; /* of the slice: quantiles of its samples; NaN where they are too few */
    double figure; /* of the slice: what the metric's `combine` makes of its samples (median, max ...) */
    struct pk_interval ci; /* of the case: over the invocations' figures; NaN under three */
    double ci_level;       /* of the case: pk_invocations_level; NaN: approximate */
    size_t invocations;    /* of the case */
};

/* Records one slice in one transaction: the slice, its series and samples, its summaries, and the new summaries of the case. A recorded
 * slice of the same case, invocation and pass is replaced if its status is not ok (--resume); if it is ok, the new one is refused with
 * PK_E_USAGE. PK_E_IO if it cannot be written: the caller spools it. */
enum pk_code pk_store_slice(struct pk_store *s, int64_t case_id, const struct pk_slice *slice,
                            const struct pk_summary_row *per_slice, size_t n_per_slice,
                            const struct pk_summary_row *per_case, size_t n_per_case,
                            struct pk_err *err) PK_MUST_CHECK;

/* How a run was measured: what a worker reports (threads, BLAS core ...) under its invocation, and what applies to the whole run under
 * invocation 0. The first value of a run, invocation and key is kept. One transaction. */
struct pk_setting {
    int invocation;
    const char *key, *value;
};
enum pk_code pk_store_settings(struct pk_store *s, int64_t run_id, const struct pk_setting *v, size_t n,
                               struct pk_err *err) PK_MUST_CHECK;

struct pk_fit_info {
    const char *name, *metric, *axis, *kind; /* "power" or "line" */
    const char *experiment, *variant, *device;
    const char *group; /* JSON of the axes held fixed */
    struct pk_fit fit;
};
enum pk_code pk_store_fits(struct pk_store *s, int64_t run_id, const struct pk_fit_info *fits, size_t n,
                           struct pk_err *err) PK_MUST_CHECK;

/* A count from the counter passes of a case, or a metric that a group derives from counts. Replaces a row of the same name. */
struct pk_counter_row {
    int64_t case_id;
    const char *region; /* "forward", "iteration" */
    const char *group;  /* "" = an event's count */
    const char *name, *unit;
    double value;                          /* of one iteration; NaN = not known, and `note` has the reason */
    const char *source, *native, *quality; /* "exact", "approximate", "derived" */
    const char *modes, *note;
};
enum pk_code pk_store_counters(struct pk_store *s, const struct pk_counter_row *v, size_t n,
                               struct pk_err *err) PK_MUST_CHECK;

/* One repeat of measuring the ceilings of a device of a machine: a value per key, "fp32_flops_per_s", ... */
enum pk_evidence {
    PK_EVIDENCE_ONE_SIZE, /* also of rates that do not depend on a size */
    PK_EVIDENCE_LIMITED, /* to below FLAT: of sizes up to 2^this bytes (rounded down), at which the rate may still fall */
    PK_EVIDENCE_FLAT = 63 /* of sizes up to those from which on the rate does not fall */
};
struct pk_ceiling_value {
    const char *key;
    double value;
    enum pk_evidence evidence;
};
/* A rate over size that was measured in the same repeat. */
enum { PK_CURVE_STREAMS = 4 };
struct pk_curve_row {
    unsigned lanes;
    int64_t bytes;
    const char *level;             /* "L1", ... "between", "memory" */
    double rate[PK_CURVE_STREAMS]; /* update, copy, triad, read; 0 = not measured */
    const char *stop;              /* of the largest size: why there is no larger one; else NULL */
};
struct pk_ceiling_repeat {
    const char *machine, *device;
    const struct pk_ceiling_value *values;
    const struct pk_curve_row *curve;
    size_t n_values, n_curve;
};
enum pk_code pk_store_ceilings(struct pk_store *s, const struct pk_ceiling_repeat *r,
                               struct pk_err *err) PK_MUST_CHECK;

/* The ceiling from all repeats, as in v_ceiling. Of those with the most evidence the highest rate counts, because disturbances only lower
 * a rate. */
struct pk_ceiling {
    double value;      /* the highest */
    size_t repeats;    /* 0: no value is stored */
    bool confirmed;    /* a second repeat is within 5 % of it */
    int64_t newest_ns; /* wall clock, of the newest repeat */
    enum pk_evidence evidence;
};
enum pk_code pk_store_ceiling(struct pk_store *s, const char *machine, const char *device, const char *key,
                              struct pk_ceiling *out, struct pk_err *err) PK_MUST_CHECK;
/* The rates over size of a device of a machine now: a row per number of lanes and size, as the columns of v_curve but run_id. */
enum pk_code pk_store_curve(struct pk_store *s, const char *machine, const char *device, struct pk_arena *a,
                            struct pk_rows *out, struct pk_err *err) PK_MUST_CHECK;

/* --- reading --- */

/* The id of the run that a reference names: "@", "@~2", an id, a baseline, "commit:1a2b3c4" (seven digits or more; complete runs of a clean
 * working tree) or a label; the newest if several runs match. PK_E_USAGE, with the runs that exist, if none matches; PK_E_NOT_COMPARABLE
 * for a commit without runs. */
enum pk_code pk_store_resolve(struct pk_store *s, const char *ref, int64_t *run_id,
                              struct pk_err *err) PK_MUST_CHECK;

/* Opens the store of a reference and finds its run: "@~1", an id or a label in the store at own_path, or "FILE.db:@~1" ("FILE.db" = its
 * newest run) in another file, which is opened with PK_STORE_UNTRUSTED. The text before ':' is a file if such a file exists or if it ends
 * in ".db"; otherwise the whole text is a label. */
enum pk_code pk_store_open_ref(const char *own_path, const char *ref, const struct pk_store_wait *wait,
                               struct pk_store **out, int64_t *run_id, struct pk_err *err) PK_MUST_CHECK;

/* The ids of all runs that a reference names, at least one, in its order. "3,4,@" is a list; a baseline names its runs; a label or a commit
 * names all its runs that have ended and have the experiment of the newest one. */
enum pk_code pk_store_refs(struct pk_store *s, const char *ref, struct pk_arena *a, int64_t **ids, size_t *n,
                           struct pk_err *err) PK_MUST_CHECK;
/* Opens the store of a reference and finds all its runs. With `of` (may be NULL) only runs of that entry of a suite count, by their tags
 * suite and entry: all with the label, commit or baseline; one for "@" and "@~1". PK_E_NOT_COMPARABLE if there is none. */
struct pk_entry_name {
    const char *suite, *entry;
};
enum pk_code pk_store_open_refs(const char *own_path, const char *ref, const struct pk_entry_name *of,
                                const struct pk_store_wait *wait, struct pk_arena *a, struct pk_store **out,
                                int64_t **ids, size_t *n, struct pk_err *err) PK_MUST_CHECK;

/* Which runs of an experiment to list. */
struct pk_run_wanted {
    const char *experiment;
    const char *label; /* NULL = any */
    bool gates;        /* also runs that are sides of a gate */
    int64_t last;      /* at most so many, the newest; 0 = all */
};

/* Runs that have ended, oldest first. PK_E_NOTHING if the store has no run; PK_E_USAGE for an experiment or a label that no run has, with the
 * most similar one. *n is 0 if all runs are sides of gates. */
enum pk_code pk_store_run_list(struct pk_store *s, const struct pk_run_wanted *w, struct pk_arena *a,
                               int64_t **ids, size_t *n, struct pk_err *err) PK_MUST_CHECK;

/* Parameters of a named query or table, by name (":run", ":base" ...). */
struct pk_param {
    const char *name;
    struct pk_cell value;
};

static inline struct pk_param pk_param_int(const char *name, int64_t value)
{
    return (struct pk_param){name, pk_cell_int(value)};
}

static inline struct pk_param pk_param_text(const char *name, const char *value)
{
    return (struct pk_param){name, pk_cell_text(value)};
}

#define PK_PARAMS(array) array, sizeof(array) / sizeof *(array) /* params and n_params */

/* A result set held in an arena. */
struct pk_rows {
    size_t n, n_cols;
    const char *const *names;
    const struct pk_cell *cells; /* row-major */
};

/* A cell by the name of its column (assert). */
const struct pk_cell *pk_rows_cell(const struct pk_rows *r, size_t row, const char *name);

/* Runs SQL over perfkit's own temporary views, which a hostile file cannot replace. */
enum pk_code pk_store_query(struct pk_store *s, const char *sql, const struct pk_param *params,
                            size_t n_params, struct pk_arena *a, struct pk_rows *out,
                            struct pk_err *err) PK_MUST_CHECK;

/* From now on the views show one run only, until pk_store_widen; the views of baselines and v_topology still show everything. A table of one
 * run is printed so, because a view that is joined to cases is read as a whole. */
void pk_store_narrow(struct pk_store *s, int64_t run_id);
void pk_store_widen(struct pk_store *s);

/* --- keeping --- */

/* *problem: what SQLite's check of the file finds, or that of references between tables, in the arena; NULL when the store is sound. */
enum pk_code pk_store_check(struct pk_store *s, struct pk_arena *a, const char **problem,
                            struct pk_err *err) PK_MUST_CHECK;
/* Copies the runs of another store, all or none, with new ids, and adds to *runs_added those that this store did not have (by UUID). The
 * other store is opened as an untrusted file. */
enum pk_code pk_store_merge(struct pk_store *s, const char *other_path, int64_t *runs_added,
                            struct pk_err *err) PK_MUST_CHECK;
/* Removes all runs but the newest `keep_newest`, those of a baseline, and those that are being recorded. dry_run: only counts them. */
enum pk_code pk_store_prune(struct pk_store *s, int64_t keep_newest, bool dry_run, int64_t *runs_removed,
                            struct pk_err *err) PK_MUST_CHECK;
