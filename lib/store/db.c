/* Db: errors, statements and transactions over one SQLite handle. */
#include "store/db.h"

#include "base/assert.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* What a primary result code means to the person at the terminal. */
struct reason {
    int code;
    const char *why, *fix;
};

static const struct reason reasons[] = {
    {SQLITE_BUSY, "another process has kept it locked",
     "end that process (fuser FILE names it), or record elsewhere with --db"},
    {SQLITE_LOCKED, "another statement has it locked", "try again"},
    {SQLITE_FULL, "the disk is full", "free some space, or record elsewhere with --db"},
    {SQLITE_READONLY, "it, or its directory, is read-only for this user",
     "change its permissions, or name another file with --db"},
    {SQLITE_PERM, "this user may not open it", "change its permissions, or name another file with --db"},
    {SQLITE_CANTOPEN, "it, or its journal, cannot be opened",
     "check the path and its permissions, or name another file with --db"},
    {SQLITE_NOTADB, "it is not a SQLite database", "name a perfkit store with --db"},
    {SQLITE_CORRUPT, "it is damaged",
     "copy it away; `sqlite3 FILE .recover` may save rows; start a new one with --db"},
    {SQLITE_INTERRUPT, "reading it took longer than a sound store ever does",
     "it may have been made to; do not trust it"},
    {SQLITE_TOOBIG, "it holds a value larger than perfkit ever writes",
     "it may have been made to; do not trust it"},
    {SQLITE_NOMEM, "no memory is left", "free some memory and try again"},
};

static const struct reason *find_reason(int code)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].code == (code & 0xff))
            return &reasons[i];
    return NULL;
}

/* The system's own word when it has one, e.g. "No space left on device" behind an I/O error. */
static void why_io(struct pk_store *s, struct pk_err *err)
{
    int e = sqlite3_system_errno(s->db);
    pk_why(err, "%s (%s)", e ? strerror(e) : "the disk failed",
           sqlite3_errstr(sqlite3_extended_errcode(s->db)));
    bool full = e == ENOSPC || e == EFBIG || e == EDQUOT;
    pk_fix(err, full ? "free some space, or record elsewhere with --db"
                     : "check the disk, or record elsewhere with --db");
}

enum pk_code pk_db_fail(struct pk_store *s, struct pk_err *err)
{
    int code = sqlite3_extended_errcode(s->db);
    const struct reason *r = find_reason(code);
    pk_fail(err, r || (code & 0xff) == SQLITE_IOERR ? PK_E_IO : PK_E_INTERNAL, "store %s: cannot %s", s->path,
            s->doing ? s->doing : "read it");
    if ((code & 0xff) == SQLITE_IOERR) {
        why_io(s, err);
    } else if (!r) {
        pk_why(err, "SQLite says: %s", sqlite3_errmsg(s->db));
        pk_fix(err, "`perfkit db check` tells whether the file is sound; if it is, please report this");
    } else {
        if ((code & 0xff) == SQLITE_BUSY)
            pk_why(err, "%s for %.1f s", r->why, (double)s->patience_ms / 1e3);
        else
            pk_why(err, "%s", r->why);
        pk_fix(err, "%s", r->fix);
    }
    return err->code;
}

enum pk_code pk_db_stmt(struct pk_store *s, const char *sql, sqlite3_stmt **stmt, struct pk_err *err)
{
    for (size_t i = 0; i < s->n_cached; i++)
        if (s->cached[i].sql == sql) {
            *stmt = s->cached[i].stmt;
            sqlite3_clear_bindings(*stmt);
            return PK_OK;
        }
    pk_assert(s->n_cached < PK_DB_CACHED);
    if (sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL) != SQLITE_OK)
        return pk_db_fail(s, err);
    s->cached[s->n_cached].sql = sql;
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

static void bind_all(sqlite3_stmt *stmt, const char *types, va_list ap)
{
    for (int i = 1; types[i - 1]; i++)
        switch (types[i - 1]) {
        case 'i':
            sqlite3_bind_int64(stmt, i, va_arg(ap, int64_t));
            break;
        case 't':
            sqlite3_bind_text(stmt, i, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
            break;
        case 'f':
            pk_db_bind_real(stmt, i, va_arg(ap, double));
            break;
        default:
            pk_assert(types[i - 1] == 'n');
        }
}

/* One step of a literal; *value is the first column of the row it gives, unless there is none or it is NULL. */
static enum pk_code step_once(struct pk_store *s, struct pk_err *err, const char *sql, const char *types,
                              va_list ap, int64_t *value)
{
    sqlite3_stmt *stmt;
    if (pk_db_stmt(s, sql, &stmt, err))
        return err->code;
    bind_all(stmt, types, ap);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
        *value = sqlite3_column_int64(stmt, 0);
    enum pk_code code = rc == SQLITE_DONE || rc == SQLITE_ROW ? PK_OK : pk_db_fail(s, err);
    sqlite3_reset(stmt);
    return code;
}

enum pk_code pk_db_run(struct pk_store *s, struct pk_err *err, const char *sql, const char *types, ...)
{
    int64_t ignored;
    va_list ap;
    va_start(ap, types);
    enum pk_code code = step_once(s, err, sql, types, ap, &ignored);
    va_end(ap);
    return code;
}

enum pk_code pk_db_int(struct pk_store *s, struct pk_err *err, int64_t *value, int64_t fallback,
                       const char *sql, const char *types, ...)
{
    va_list ap;
    *value = fallback;
    va_start(ap, types);
    enum pk_code code = step_once(s, err, sql, types, ap, value);
    va_end(ap);
    return code;
}

enum pk_code pk_db_script(struct pk_store *s, const char *sql, struct pk_err *err)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? PK_OK : pk_db_fail(s, err);
}

enum pk_code pk_db_begin(struct pk_store *s, const char *doing, struct pk_err *err)
{
    s->doing = doing;
    return pk_db_run(s, err, "BEGIN IMMEDIATE", "");
}

enum pk_code pk_db_end(struct pk_store *s, enum pk_code code, struct pk_err *err)
{
    if (code == PK_OK)
        code = pk_db_run(s, err, "COMMIT", "");
    if (code != PK_OK && !sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return code;
}
