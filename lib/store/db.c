/* Db: errors, statements and transactions over one SQLite handle. */
#include "store/db.h"

#include "base/err.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#define RESTORE "restore the file; then `perfkit import` brings in what was not recorded"

/* What a primary result code means to the person at the terminal. */
struct sqlite_reason {
    int code;
    const char *why, *fix;
};

static const struct sqlite_reason reasons[] = {
    {SQLITE_LOCKED, "another statement has it locked", "run it again"},
    {SQLITE_FULL, "the disk is full", "free some space, or record elsewhere with --db"},
    {SQLITE_NOTADB, "it is not a SQLite database", "name a perfkit store with --db"},
    {SQLITE_CORRUPT, "it is damaged",
     "move it elsewhere; `sqlite3 -safe -readonly FILE .recover` may recover rows; start a new store with "
     "--db"},
    {SQLITE_TOOBIG, "it has a value larger than perfkit ever writes", "it may be malicious; do not trust it"},
    {SQLITE_NOMEM, "no memory is left", "free some memory and try again"},
    {SQLITE_AUTH, "a statement would have done more than to read or write its tables",
     "it may be malicious; do not trust it"},
};

static enum pk_code explain_io(struct pk_store *s, struct pk_err *err)
{
    sqlite3_file *journal = NULL;
    /* kept with the file when the error came up in a commit; 0 = unknown */
    int e = sqlite3_system_errno(s->db);
    if (!e)
        sqlite3_file_control(s->db, "main", SQLITE_FCNTL_LAST_ERRNO, &e);
    if (!e && sqlite3_file_control(s->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &journal) == SQLITE_OK &&
        journal && journal->pMethods)
        journal->pMethods->xFileControl(journal, SQLITE_FCNTL_LAST_ERRNO, &e);
    if (e)
        pk_why_errno(err, e);
    else
        pk_why(err, "%s", sqlite3_errmsg(s->db));
    if (e == EFBIG)
        return pk_fix(err, "raise the limit (`ulimit -f unlimited`), or record elsewhere with --db");
    return pk_fix(err, e == ENOSPC || e == EDQUOT ? "free some space, or record elsewhere with --db"
                                                  : "check the disk, or record elsewhere with --db");
}

static enum pk_code explain_end(const struct pk_store *s, struct pk_err *err)
{
    if (s->watch.ended == PK_DB_STOPPED) {
        err->code = PK_E_INTERRUPTED;
        pk_why(err, "a signal ended it");
        return pk_fix(err, "run the command again");
    }
    pk_why(err, "a query gave no row for %g s", (double)s->wait.query_limit_ns / PK_NS_PER_S);
    return pk_fix(err, "`perfkit db check` shows whether the file is valid; if you trust it and it is large, "
                       "give --db-limit "
                       "a longer time");
}

/* What the text of a program caused, and not the file. */
static bool is_of_text(const struct pk_store *s, int result)
{
    return s->limited.on && (result == SQLITE_ERROR || result == SQLITE_TOOBIG || result == SQLITE_MISMATCH ||
                             (result == SQLITE_INTERRUPT && s->watch.ended != PK_DB_STOPPED));
}

static enum pk_code explain_text(const struct pk_store *s, int result, struct pk_err *err)
{
    pk_fail(err, PK_E_IO, "the SQL of the experiment's program failed");
    if (result == SQLITE_INTERRUPT)
        pk_why(err, "it took more than %d s, or gave more than %d MB", PK_LIMITED_S, PK_LIMITED_BYTES >> 20);
    else
        pk_why(err, "SQLite says: %s", sqlite3_errmsg(s->db));
    return pk_fix(
        err, "correct the program's `sql`; what was measured is stored, and `perfkit export csv` has it");
}

enum pk_code pk_db_fail(struct pk_store *s, struct pk_err *err)
{
    const int result = sqlite3_errcode(s->db) & 0xff;
    if (is_of_text(s, result))
        return explain_text(s, result, err);
    pk_fail(err, PK_E_IO, "store %s: cannot %s", s->path, s->doing ? s->doing : "read it");
    switch (result) {
    case SQLITE_BUSY:
        if (s->waiting.stopped) {
            err->code = PK_E_INTERRUPTED;
            pk_why(err, "another process has locked it, and a signal ended the wait");
        } else {
            pk_why(err, "another process has kept it locked for %.1f s", (double)s->timeout_ms / 1e3);
        }
        return pk_fix(err, "end that process (`fuser %s` shows it), or record elsewhere with --db", s->path);
    case SQLITE_INTERRUPT:
        return explain_end(s, err);
    case SQLITE_IOERR:
        return explain_io(s, err);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
        return pk_db_explain_access(s->path, err);
    case SQLITE_ERROR: /* the schema was verified when it was opened */
        if (strncmp(sqlite3_errmsg(s->db), "no such table", strlen("no such table")) == 0) {
            pk_why(err, "its tables are gone: another program has emptied or replaced the file");
            return pk_fix(err, RESTORE);
        }
        /* fall through */
    default:
        for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
            if (reasons[i].code == result) {
                pk_why(err, "%s", reasons[i].why);
                return pk_fix(err, "%s", reasons[i].fix);
            }
        err->code = PK_E_INTERNAL;
        pk_why(err, "SQLite says: %s", sqlite3_errmsg(s->db));
        return pk_fix(err,
                      "`perfkit db check` shows whether the file is valid; if it is, please report this");
    }
}

enum pk_code pk_db_no_parent(const struct pk_store *s, const char *table, int64_t row, const char *parent,
                             int64_t id, struct pk_err *err)
{
    pk_fail(err, PK_E_IO, "store %s: its rows do not belong together", s->path);
    pk_why(err, "table %s, row %lld: table %s has no row %lld", table, (long long)row, parent, (long long)id);
    return pk_fix(err, "get the file as perfkit wrote it; `perfkit db check` lists all such rows");
}

/* Statements that may reach beyond the tables of the file (authorizer.c): nothing of a file is part of them. */
static bool may(const char *statement)
{
    static const char *const names[] = {
        "configure", "keep_journal", "delete_journal", "attach_other", "detach_other", "vacuum", NULL};
    const char *const *name = names;
    while (*name && strcmp(statement, *name) != 0)
        name++;
    return *name != NULL;
}

/* --- statements -------------------------------------------------------------------------------------------------------- */

enum pk_code pk_db_stmt(struct pk_store *s, const char *statement, sqlite3_stmt **stmt, struct pk_err *err)
{
    pk_db_watch(s);
    for (size_t i = 0; i < s->n_cached; i++)
        if (s->cached[i].name == statement) {
            *stmt = s->cached[i].stmt;
            sqlite3_clear_bindings(*stmt);
            return PK_OK;
        }
    pk_assert(s->n_cached < PK_DB_CACHED);
    if (sqlite3_prepare_v3(s->db, pk_db_statement(statement), -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL) !=
        SQLITE_OK)
        return pk_db_fail(s, err);
    s->cached[s->n_cached].name = statement;
    s->cached[s->n_cached++].stmt = *stmt;
    return PK_OK;
}

void pk_db_bind_real(sqlite3_stmt *stmt, int i, double x)
{
    if (isfinite(x))
        sqlite3_bind_double(stmt, i, x);
    else
        sqlite3_bind_null(stmt, i);
}

/* One step of a statement; *value is the first column of the row it gives, unless there is none or it is NULL. */
static enum pk_code step_once(struct pk_store *s, struct pk_err *err, const char *statement,
                              const char *types, va_list ap, int64_t *value)
{
    sqlite3_stmt *stmt;
    s->permitted = may(statement);
    if (pk_db_stmt(s, statement, &stmt, err)) {
        s->permitted = false;
        return err->code;
    }
    for (int i = 1; types[i - 1]; i++)
        if (types[i - 1] == 'i')
            sqlite3_bind_int64(stmt, i, va_arg(ap, int64_t));
        else if (types[i - 1] == 'f')
            pk_db_bind_real(stmt, i, va_arg(ap, double));
        else /* the caller's until the statement has run: no copy that could be refused and leave a NULL */
            sqlite3_bind_text(stmt, i, va_arg(ap, const char *), -1, SQLITE_STATIC);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
        *value = sqlite3_column_int64(stmt, 0);
    enum pk_code code = rc == SQLITE_DONE || rc == SQLITE_ROW ? PK_OK : pk_db_fail(s, err);
    sqlite3_reset(stmt);
    s->permitted = false;
    return code;
}

enum pk_code pk_db_run(struct pk_store *s, struct pk_err *err, const char *statement, const char *types, ...)
{
    int64_t ignored;
    va_list ap;
    va_start(ap, types);
    enum pk_code code = step_once(s, err, statement, types, ap, &ignored);
    va_end(ap);
    return code;
}

enum pk_code pk_db_int(struct pk_store *s, struct pk_err *err, int64_t *value, int64_t fallback,
                       const char *statement, const char *types, ...)
{
    va_list ap;
    *value = fallback;
    va_start(ap, types);
    enum pk_code code = step_once(s, err, statement, types, ap, value);
    va_end(ap);
    return code;
}

enum pk_code pk_db_script(struct pk_store *s, const char *sql, struct pk_err *err)
{
    pk_db_watch(s);
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? PK_OK : pk_db_fail(s, err);
}

enum pk_code pk_db_exec(struct pk_store *s, const char *statement, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *sql = pk_db_statement(statement), *end = strstr(sql, "\n-- ");
    s->permitted = may(statement);
    enum pk_code code = pk_db_script(s, pk_strndup(&a, sql, end ? (size_t)(end - sql) : strlen(sql)), err);
    s->permitted = false;
    return code;
}

void pk_db_attempt(struct pk_store *s, const char *statement)
{
    struct pk_err ignored;
    const enum pk_code code = pk_db_exec(s, statement, &ignored);
    (void)code;
}

/* Ids of a run and its cases are of this file alone: if another one was copied over it, they are those of another run. */
static enum pk_code same_file(struct pk_store *s, struct pk_err *err)
{
    int64_t runs = 0;
    if (!s->run_stored)
        return PK_OK;
    if (pk_db_int(s, err, &runs, 0, "is_run", "t", s->run_uuid))
        return err->code;
    if (runs)
        return PK_OK;
    pk_fail(err, PK_E_IO, "store %s: cannot %s", s->path, s->doing);
    pk_why(err, "the run is not in it any more: another program has removed it or replaced the file");
    return pk_fix(err, RESTORE);
}

enum pk_code pk_db_begin(struct pk_store *s, const char *doing, struct pk_err *err)
{
    s->doing = doing;
    if (s->transactions++)
        return PK_OK;
    if (pk_db_run(s, err, "begin", ""))
        s->transactions = 0;
    return s->transactions ? PK_OK : err->code;
}

enum pk_code pk_db_begin_rows(struct pk_store *s, const char *doing, struct pk_err *err)
{
    if (pk_db_begin(s, doing, err))
        return err->code;
    return same_file(s, err) ? pk_db_end(s, err->code, err) : PK_OK;
}

enum pk_code pk_db_end(struct pk_store *s, enum pk_code code, struct pk_err *err)
{
    if (--s->transactions)
        return code;
    if (code == PK_OK)
        code = pk_db_run(s, err, "commit", "");
    if (code != PK_OK && s->own_views == PK_DB_VIEWS_MADE)
        s->own_views = PK_DB_VIEWS_STALE; /* those that were made in the transaction are rolled back, too */
    s->run_stored |= code == PK_OK && *s->run_uuid;
    if (code != PK_OK && !sqlite3_get_autocommit(s->db))
        pk_db_attempt(s, "rollback");
    return code;
}
