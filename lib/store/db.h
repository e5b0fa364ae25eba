/* Db: what the files of lib/store share: the handle, errors from SQLite in three parts, statements by name, transactions.
 * Private to lib/store. */
#pragma once

#include "store/store.h"

#include "base/clock.h"

#include <sqlite3.h>

enum { PK_LIMITED_S = 20, PK_LIMITED_BYTES = 64 << 20 }; /* of a text with PK_TEXT_LIMITED */

enum { PK_DB_CACHED = 64, PK_DB_VIEWS = 128, PK_DB_APPLICATION_ID = 0x706b6974 /* "pkit" */ };

struct pk_section; /* store/table/table.h */

struct pk_store {
    struct pk_arena arena; /* holds this struct */
    sqlite3 *db;
    const char *path;
    enum pk_store_mode mode;
    char run_uuid[33];  /* see pk_store_begun */
    bool run_stored;    /* it was committed */
    int found_version;  /* before migrating */
    const char *doing;  /* what errors say: "record a slice" */
    int64_t timeout_ms; /* how long to wait for a lock */
    struct pk_store_wait wait;
    struct {
        uint64_t since_ns;
        bool announced; /* wait.waiting was called */
        bool hurried;   /* *wait.stop_flag was set when it began */
        bool stopped;   /* and when it ended */
    } waiting;
    struct {
        uint64_t deadline_ns; /* of the statement that runs */
        bool long_task; /* one whose time is in proportion to the size of the file: only a signal ends it */
        enum { PK_DB_GOES_ON, PK_DB_TOO_LONG, PK_DB_STOPPED } ended;
        struct pk_grace grace;
    } watch;          /* limits.c */
    int transactions; /* begun and not ended: the outermost is SQLite's */
    bool permitted;   /* a statement runs that may do what others are denied: pk_db_deny_effects */
    enum { PK_DB_VIEWS_NONE, PK_DB_VIEWS_STALE, PK_DB_VIEWS_MADE } own_views; /* pk_db_own_views */
    bool narrow;        /* they show one run: pk_store_narrow */
    int64_t narrow_run; /* this one */
    struct {
        bool on;              /* statements of a text with PK_TEXT_LIMITED run: authorizer.c */
        const char *creating; /* a view of it */
        uint64_t deadline_ns; /* of all of them */
        size_t bytes;         /* of their rows so far */
    } limited;
    struct {
        uint64_t text; /* of a view of a .sql text: the digest of the text */
        const char *name;
    } made[PK_DB_VIEWS];
    size_t n_made;
    struct {
        const char *name; /* by address */
        sqlite3_stmt *stmt;
    } cached[PK_DB_CACHED];
    size_t n_cached;
};

/* The error SQLite reported last on s, as "store PATH: cannot DOING" with reason and advice. Returns the
 * code. */
enum pk_code pk_db_fail(struct pk_store *s, struct pk_err *err);

/* The error that a row of `table` refers to a row of `parent` that is not there. */
enum pk_code pk_db_no_parent(const struct pk_store *s, const char *table, int64_t row, const char *parent,
                             int64_t id, struct pk_err *err);

/* section.c: the SQL of a "-- statement:" of lib/store (assert), up to its semicolon; other sections are behind it. */
const char *pk_db_statement(const char *name);

/* The prepared statement of a name, which is a string literal; kept until the store closes, reset and without bindings. */
enum pk_code pk_db_stmt(struct pk_store *s, const char *statement, sqlite3_stmt **stmt,
                        struct pk_err *err) PK_MUST_CHECK;

/* Runs a statement to its end. One letter per parameter: i int64_t, t const char * (NULL allowed), f double (not finite = NULL). */
enum pk_code pk_db_run(struct pk_store *s, struct pk_err *err, const char *statement, const char *types,
                       ...) PK_MUST_CHECK;
/* The same, for the one integer that it gives; `fallback` when there is no row or it is NULL. */
enum pk_code pk_db_int(struct pk_store *s, struct pk_err *err, int64_t *value, int64_t fallback,
                       const char *statement, const char *types, ...) PK_MUST_CHECK;
/* Before a verdict or a calibration of a row of a tail: a metric of that name, which no slice declares. The run
 * is given by its id, or with 0 by its uuid. verdicts.c */
enum pk_code pk_db_tail_metric(struct pk_store *s, int64_t run_id, const char *uuid, const char *metric,
                               struct pk_err *err) PK_MUST_CHECK;
/* Any number of statements without parameters, as a text. */
enum pk_code pk_db_script(struct pk_store *s, const char *sql, struct pk_err *err) PK_MUST_CHECK;
/* The same for a name: all statements of its section, up to a line that begins with "-- ". */
enum pk_code pk_db_exec(struct pk_store *s, const char *statement, struct pk_err *err) PK_MUST_CHECK;
/* The same in a case where a failure does not matter. */
void pk_db_attempt(struct pk_store *s, const char *statement);

/* From now on SQLite refuses statements that reach beyond the tables of the file (ATTACH, DETACH, a PRAGMA that sets something, virtual
 * tables, functions that load code), whoever wrote them, apart from the few of perfkit's that are named in db.c. authorizer.c */
void pk_db_deny_effects(struct pk_store *s);

/* limited_text.c: statements of a text begin and end; what they may do is limited if it begins with PK_TEXT_LIMITED. */
void pk_db_limited_begin(struct pk_store *s, const char *text);
void pk_db_limited_end(struct pk_store *s);
/* Between them: prepares one statement, with nothing but comments behind it. PK_E_USAGE; the caller finalizes. */
enum pk_code pk_db_one_select(struct pk_store *s, const char *sql, sqlite3_stmt **stmt,
                              struct pk_err *err) PK_MUST_CHECK;
/* Counts a value of a row: beyond the limit the statement ends as if it took too long. */
void pk_db_limited_count(struct pk_store *s, const struct pk_cell *c);
/* Is it one statement, and may its view be called so? */
enum pk_code pk_db_limited_view(struct pk_store *s, const char *name, const char *sql,
                                struct pk_err *err) PK_MUST_CHECK;

/* limits.c: from now on values have a largest size, and a statement ends after s->wait.query_limit_ns or soon after a signal. */
void pk_db_limit(struct pk_store *s);
/* The time of a statement begins, or begins again because it gave a row. */
void pk_db_watch(struct pk_store *s);

/* A write transaction, taken at once; inside another one a part of it. pk_db_end commits when `code` is PK_OK and rolls back otherwise
 * (keeping err). */
enum pk_code pk_db_begin(struct pk_store *s, const char *doing, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_db_end(struct pk_store *s, enum pk_code code, struct pk_err *err) PK_MUST_CHECK;
/* pk_db_begin for rows of the run that was begun here: PK_E_IO if it is no longer in the file. */
enum pk_code pk_db_begin_rows(struct pk_store *s, const char *doing, struct pk_err *err) PK_MUST_CHECK;

/* functions.c: what statements have beside SQLite's own functions (docs/tables.md). */
enum pk_code pk_db_functions(struct pk_store *s, struct pk_err *err) PK_MUST_CHECK;

void pk_db_bind_real(sqlite3_stmt *stmt, int i, double x);

/* file.c: what is at a path. ":memory:" is not a file. */
bool pk_db_in_memory(const char *path);
/* Whether a store may be opened there; makes the directory of the default place. */
enum pk_code pk_db_check_path(const char *path, enum pk_store_mode mode, struct pk_err *err) PK_MUST_CHECK;
/* Whether a store that is not there could be made at the path; makes nothing that stays. */
enum pk_code pk_db_may_create(const char *path, struct pk_err *err) PK_MUST_CHECK;
/* Before SQLite opens a file: refuses one whose journal it would not be safe to play back or to wait for; for one that is read as immutable
 * also one in the middle of a transaction, half of which would be seen. */
enum pk_code pk_db_check_journal(const char *path, bool immutable, struct pk_err *err) PK_MUST_CHECK;
/* Whether the file is the one at the default place and belongs to this user: the only one that is known to be made by this user's perfkit. */
bool pk_db_is_own(const char *path);
/* Whether this user may write the file and, for its journal, its directory. */
bool pk_db_may_write(const char *path);
/* Adds why and fix to an error: what this user may not do with the file or its directory. */
enum pk_code pk_db_explain_access(const char *path, struct pk_err *err);

/* Before all of a file is read or written: pages of a damaged one that refer to each other in a circle would be endless work. `of`
 * is "main" or "other", the attached one. */
enum pk_code pk_db_refuse_damaged(struct pk_store *s, const char *of, const char *path,
                                  struct pk_err *err) PK_MUST_CHECK;

/* schema.c: the schemas this program knows, from the first to the newest; brings a writable file up to the newest. */
int pk_db_first_version(void);
int pk_db_newest_version(void);
enum pk_code pk_db_migrate(struct pk_store *s, struct pk_err *err) PK_MUST_CHECK;
/* Makes perfkit's own views, as temporary ones over the tables of the main database, unless they are made. Statements that read a view are
 * denied before (authorizer.c): pk_db_prepare then calls this itself. It comes before a pk_db_stmt of views. */
enum pk_code pk_db_own_views(struct pk_store *s, struct pk_err *err) PK_MUST_CHECK;
/* Refuses a database (the store, or the one attached as `other`) whose tables, indexes, views and triggers are not exactly those that
 * perfkit creates for the version. */
enum pk_code pk_db_verify_schema(struct pk_store *s, bool other, int64_t version, const char *path,
                                 struct pk_err *err) PK_MUST_CHECK;
/* The views of a text, unless they are there. Between pk_store_narrow and pk_store_widen each is a table, which has the rows of one run
 * and is dropped by the latter; otherwise they are views, dropped by pk_db_drop_views when the tables of the text are printed. */
enum pk_code pk_db_make_views(struct pk_store *s, const char *text, const struct pk_section *v, size_t n,
                              struct pk_err *err) PK_MUST_CHECK;
void pk_db_drop_views(struct pk_store *s);

/* record/recorder_process.c: who records, and marking the runs of dead processes interrupted. */
struct pk_recorder_process {
    char host[256], boot_id[64];
    int64_t pid, start_ticks;
};
void pk_db_this_process(struct pk_recorder_process *p);
enum pk_code pk_db_mark_interrupted(struct pk_store *s, struct pk_err *err) PK_MUST_CHECK;

/* file:PATH?mode=ro&immutable=1, with the path escaped. In the arena. */
const char *pk_db_untrusted_uri(struct pk_arena *a, const char *path);

/* query.c: from a prepared statement to cells, members of structs and writers. */

/* The texts of a query's only column. */
enum pk_code pk_db_texts(struct pk_store *s, const char *query, const struct pk_param *params,
                         size_t n_params, struct pk_arena *a, const char ***texts, size_t *n,
                         struct pk_err *err) PK_MUST_CHECK;

/* A row of a result to the members of a struct, a pointer per column. One letter each, as in pk_db_run; t is const char *, "" for NULL, o
 * one that stays NULL, f NaN for NULL; also d int, z size_t, b bool; numbers are 0 for NULL. */
void pk_db_row(const struct pk_rows *r, size_t row, const char *types, ...);

/* Prepares one SELECT and binds the parameters it names, whose texts must stay; the caller finalizes. */
enum pk_code pk_db_prepare(struct pk_store *s, const char *sql, const struct pk_param *params,
                           size_t n_params, sqlite3_stmt **stmt, struct pk_err *err) PK_MUST_CHECK;

/* As pk_query; errors say what s->doing says. */
enum pk_code pk_db_query(struct pk_store *s, const char *name, const struct pk_param *params, size_t n_params,
                         struct pk_arena *a, struct pk_rows *out, struct pk_err *err) PK_MUST_CHECK;

/* Column names in the arena, one per column. */
const char **pk_db_names(sqlite3_stmt *stmt, struct pk_arena *a);

/* Rows from the current one (the caller has stepped once and got it) to the last go to `out`, whose table has
 * begun. Ends early, without an error, when nobody reads any more. */
enum pk_code pk_db_stream_rows(struct pk_store *s, sqlite3_stmt *stmt, struct pk_out *out,
                               struct pk_err *err) PK_MUST_CHECK;
