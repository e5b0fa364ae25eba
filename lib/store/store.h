/* Store: one SQLite file of runs; the only user of sqlite3.h.
 *
 * Shape: run -> case -> slice -> series -> sample, with machines, settings, summaries and fits beside them.
 * schema/NNNN-*.sql builds it, docs/store.md documents the v_* views, which are the public interface.
 * Rollback journal, never WAL; STRICT tables; application_id and user_version set; a newer file is refused by
 * name and version. Many processes may write one file: every write is one short BEGIN IMMEDIATE transaction
 * with a busy timeout. A store is used by one thread. */
#pragma once

#include "base/arena.h"
#include "out/out.h"
#include "stats/stats.h"
#include "wire/slice.h"

struct pk_store;

enum pk_store_mode {
    PK_STORE_WRITE, /* create if missing (its directory too, when it is the default one), migrate, mark dead runs */
    PK_STORE_UPDATE, /* the same for a file that must be there */
    PK_STORE_READ,   /* our own store: read; migrate and mark dead runs when that can be done at once */
    PK_STORE_STRANGER, /* FILE.db:REF and files we do not own: mode=ro&immutable=1, defensive, limits, no trusted schema */
};

/* --db, PERFKIT_DB, $XDG_DATA_HOME/perfkit/perfkit.db, ~/.local/share/perfkit/perfkit.db; a usage error
 * without $HOME. */
enum pk_code pk_store_path(struct pk_arena *a, const char *option, const char **path,
                           struct pk_err *err) PK_MUST_CHECK;

/* Who hears that a call waits for another process's lock, and who may end that. */
struct pk_store_wait {
    /* Once per wait, when it has lasted 1.5 s; may be NULL. patience_ms is all it will last. */
    void (*waiting)(void *user, const char *path, int64_t patience_ms);
    void *user;
    /* Set by a signal handler; may be NULL. Ends a wait at once, and one that begins later after a second: what was measured should
     * still be written. The call then fails with PK_E_INTERRUPTED. */
    const volatile int *stop_flag;
};

/* ":memory:" is a store that nobody else sees and that ends with its handle. `wait` is copied; NULL waits in silence. */
enum pk_code pk_store_open(const char *path, enum pk_store_mode mode, const struct pk_store_wait *wait,
                           struct pk_store **out, struct pk_err *err) PK_MUST_CHECK;
/* What opening with PK_STORE_WRITE would meet: its error, or PK_OK. Creates and migrates nothing; waits a second for a lock. */
enum pk_code pk_store_try(const char *path, struct pk_err *err) PK_MUST_CHECK;
void pk_store_close(struct pk_store *s); /* NULL is allowed */
static inline void pk_store_cleanup(struct pk_store **s)
{
    pk_store_close(*s);
}
#define PK_STORE_CLEANUP __attribute__((cleanup(pk_store_cleanup)))

/* How long a call waits for another process's lock before it fails; 60 s after opening. */
void pk_store_patience(struct pk_store *s, int64_t ms);
const char *pk_store_file(const struct pk_store *s); /* the path it was opened with */

/* The schema version the file had before this call opened it (0: it is new), and the one it has now. */
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
};

enum pk_code pk_store_run_begin(struct pk_store *s, const struct pk_run_info *r, int64_t *run_id,
                                struct pk_err *err) PK_MUST_CHECK;
/* The uuid of the run that this handle began last: it names the run in other stores, too. "" = none. */
const char *pk_store_begun(const struct pk_store *s);
/* status: "complete", "interrupted", "failed". */
enum pk_code pk_store_run_end(struct pk_store *s, int64_t run_id, const char *status,
                              struct pk_err *err) PK_MUST_CHECK;

struct pk_case_info {
    const char *experiment;
    int revision;
    const char *variant, *device;
    const char *axes;        /* JSON, all present axes, keys sorted */
    const char *identity;    /* JSON, those that differ from their birth default */
    int64_t predicted_bytes; /* -1 = none */
};
/* The planned cases of a run, in order, in one transaction; ids[i] of cases[i]. */
enum pk_code pk_store_cases(struct pk_store *s, int64_t run_id, const struct pk_case_info *cases, size_t n,
                            int64_t *ids, struct pk_err *err) PK_MUST_CHECK;

/* Work the probe declares for a metric of a case: what tables divide by. */
struct pk_case_work {
    int64_t case_id;
    const char *metric; /* "forward_ns" */
    double flops, bytes, exps, messages;
    double predicted; /* of the metric itself (bytes gauges); NaN = none */
};
enum pk_code pk_store_works(struct pk_store *s, const struct pk_case_work *w, size_t n,
                            struct pk_err *err) PK_MUST_CHECK;

/* Summary of a metric: over the steady samples of one invocation (slice) or over the invocations of a case.
 */
struct pk_summary_row {
    const char *metric; /* declared by the slice's metrics */
    struct pk_summary sum;
    double figure; /* of the slice: what the metric's `combine` makes of its samples (median, max ...) */
    struct pk_interval ci; /* of the case: over the invocations' figures; NaN under three */
    double ci_level;       /* of the case: pk_invocations_level; NaN: approximate */
    size_t invocations;    /* of the case */
};

/* One slice, in one transaction: slice, series, samples, per_slice summaries, and the case's summaries
 * brought up to date. A slice of the same (case, invocation, pass) that did not end ok is replaced
 * (--resume); one that did is kept and the new one refused with PK_E_USAGE. PK_E_IO when it cannot be
 * written: the caller spools it. */
enum pk_code pk_store_slice(struct pk_store *s, int64_t case_id, const struct pk_slice *slice,
                            const struct pk_summary_row *per_slice, size_t n_per_slice,
                            const struct pk_summary_row *per_case, size_t n_per_case,
                            struct pk_err *err) PK_MUST_CHECK;

/* How the measuring was done: what workers say (threads, BLAS core ...), and under invocation 0 what holds for the run. The first
 * word per (run, invocation, key) stands. One transaction. */
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

/* What a case's counter passes counted, or what a group derives from it. Replaces a row of the same name. */
struct pk_counter_row {
    int64_t case_id;
    const char *region; /* "forward", "iteration" */
    const char *group;  /* "" = an event's count */
    const char *name, *unit;
    double value;                          /* of one iteration; NaN = not known, and note says why */
    const char *source, *native, *quality; /* "exact", "approximate", "derived" */
    const char *modes, *note;
};
enum pk_code pk_store_counters(struct pk_store *s, const struct pk_counter_row *v, size_t n,
                               struct pk_err *err) PK_MUST_CHECK;

/* One repeat of measuring the ceilings of a device of a machine: a value per key, "fp32_flops_per_s", ... */
struct pk_ceiling_value {
    const char *key;
    double value;
};
enum pk_code pk_store_ceilings(struct pk_store *s, const char *machine, const char *device,
                               const struct pk_ceiling_value *v, size_t n, struct pk_err *err) PK_MUST_CHECK;

/* What all repeats say together, as in v_ceiling: a rate is an upper bound, and whatever disturbs only takes from it. */
struct pk_ceiling {
    double value;      /* the highest */
    size_t repeats;    /* 0: nothing is stored */
    bool confirmed;    /* a second repeat came within 5 % of it */
    int64_t newest_ns; /* wall clock, of the newest repeat */
};
enum pk_code pk_store_ceiling(struct pk_store *s, const char *machine, const char *device, const char *key,
                              struct pk_ceiling *out, struct pk_err *err) PK_MUST_CHECK;

/* --- reading --- */

/* "@", "@~2", an id, a baseline, "commit:1a2b3c4" (seven digits or more; complete runs of a clean working tree), a label; of several the
 * newest -> run id. PK_E_USAGE with the runs that exist otherwise, PK_E_NOT_COMPARABLE for a commit that no run is of. */
enum pk_code pk_store_resolve(struct pk_store *s, const char *ref, int64_t *run_id,
                              struct pk_err *err) PK_MUST_CHECK;

/* "@~1", an id or a label of the store at own_path; or "FILE.db:@~1" ("FILE.db" = its newest), in another file, opened as a
 * stranger's. A text with ':' names a file when one of that name exists or it ends in ".db"; else it is a label. */
enum pk_code pk_store_open_ref(const char *own_path, const char *ref, const struct pk_store_wait *wait,
                               struct pk_store **out, int64_t *run_id, struct pk_err *err) PK_MUST_CHECK;

/* The same for several: "3,4,@" is a list, a baseline stands for its runs, and a label or a commit for all its runs that are over and
 * of the newest one's experiment. At least one, in the order they are named. */
enum pk_code pk_store_refs(struct pk_store *s, const char *ref, struct pk_arena *a, int64_t **ids, size_t *n,
                           struct pk_err *err) PK_MUST_CHECK;
/* The same, in the file that the reference is about. With `of` (may be NULL) only the runs of an entry of a suite, those with the tags suite
 * and entry: all that have the label, are of the commit or belong to the baseline; of "@" and "@~1" one. PK_E_NOT_COMPARABLE when there is
 * none. */
struct pk_entry_name {
    const char *suite, *entry;
};
enum pk_code pk_store_open_refs(const char *own_path, const char *ref, const struct pk_entry_name *of,
                                const struct pk_store_wait *wait, struct pk_arena *a, struct pk_store **out,
                                int64_t **ids, size_t *n, struct pk_err *err) PK_MUST_CHECK;

/* Which runs of an experiment there are, oldest first. */
struct pk_run_wanted {
    const char *experiment;
    const char *label; /* NULL = any */
    bool gates;        /* also runs that are sides of a gate */
    int64_t last;      /* so many of the newest; 0 = all */
};

/* Runs that are over. PK_E_NOTHING when the store has no run at all; PK_E_USAGE for an experiment or a label that none of its runs has,
 * with the nearest that some have. *n may be 0: there are sides of gates only. */
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

/* Runs SQL over perfkit's own temporary views (a hostile file cannot shadow them). */
enum pk_code pk_store_query(struct pk_store *s, const char *sql, const struct pk_param *params,
                            size_t n_params, struct pk_arena *a, struct pk_rows *out,
                            struct pk_err *err) PK_MUST_CHECK;

/* From now on the views show one run (those of baselines, and v_topology, show all); until pk_store_widen. Tables of a run in a store of
 * many are printed so: what joins a view to cases reads all that it shows. */
enum pk_code pk_store_narrow(struct pk_store *s, int64_t run_id, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_store_widen(struct pk_store *s, struct pk_err *err) PK_MUST_CHECK;

/* --- keeping --- */
enum pk_code pk_store_check(struct pk_store *s, struct pk_arena *a, const char **problem,
                            struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_store_merge(struct pk_store *s, const char *other_path, int64_t *runs_added,
                            struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_store_prune(struct pk_store *s, int64_t keep_newest, bool dry_run, int64_t *runs_removed,
                            struct pk_err *err) PK_MUST_CHECK;
