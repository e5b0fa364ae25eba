/* Limited text: when the statements of a text that perfkit did not write begin and end; that there is one in each place; names of its views. */
#include "store/db.h"
#include "store/table/table.h"

#include <string.h>

void pk_db_limited_begin(struct pk_store *s, const char *text)
{
    const bool on = strncmp(text, PK_TEXT_LIMITED, strlen(PK_TEXT_LIMITED)) == 0;
    if (on) /* SQLite declares these at their first use, as if it wrote a table */
        pk_db_attempt(s, "declare_json");
    s->limited.on = on;
    s->limited.bytes = 0;
    s->limited.deadline_ns = pk_clock_ns() + PK_LIMITED_S * PK_NS_PER_S;
}

void pk_db_limited_count(struct pk_store *s, const struct pk_cell *c)
{
    if (!s->limited.on)
        return;
    s->limited.bytes += sizeof *c + (c->type == PK_CELL_TEXT ? strlen(c->s) : 0);
    if (s->limited.bytes <= PK_LIMITED_BYTES)
        return;
    s->watch.ended = PK_DB_TOO_LONG;
    sqlite3_interrupt(s->db);
}

void pk_db_limited_end(struct pk_store *s)
{
    s->limited.on = false;
}

enum pk_code pk_db_one_select(struct pk_store *s, const char *sql, sqlite3_stmt **stmt, struct pk_err *err)
{
    const char *rest;
    sqlite3_stmt *second = NULL;
    pk_db_watch(s);
    *stmt = NULL;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, stmt, &rest);
    const bool first = rc == SQLITE_OK && *stmt;
    rest += first ? strspn(rest, " \t\n") : 0;
    if (first)
        rc = sqlite3_prepare_v2(s->db, rest, -1, &second, NULL);
    const bool more = rc != SQLITE_OK || second;
    const bool reads = first && sqlite3_stmt_readonly(*stmt) && sqlite3_column_count(*stmt) > 0;
    sqlite3_finalize(second);
    if (reads && !more)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "the SQL is refused");
    if (first && !reads)
        pk_why(err, "not a SELECT");
    else if (first)
        pk_why(err, "a section has one statement, not more: %.*s", (int)strcspn(rest, "\n"), rest);
    else if (rc == SQLITE_AUTH)
        pk_why(err, "it may read the views of docs/store.md (v_case, v_summary ...) and nothing else: %s",
               sqlite3_errmsg(s->db));
    else
        pk_why(err, "%s", rc == SQLITE_OK ? "there is no statement" : sqlite3_errmsg(s->db));
    sqlite3_finalize(*stmt);
    *stmt = NULL;
    return pk_fix(err, "correct the program's `sql`; `perfkit help tables` describes it");
}

static enum pk_code refuse_view(const char *name, const char *why, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "a view cannot be called '%.100s'", name);
    pk_why(err, "%s", why);
    return pk_fix(err, "give it a name of its own, with lower-case letters, digits and _");
}

enum pk_code pk_db_limited_view(struct pk_store *s, const char *name, const char *sql, struct pk_err *err)
{
    int64_t taken = 0;
    const size_t n = strlen(name);
    if (!n || n > 64 || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != n ||
        !strncmp(name, "v_", 2) || !strncmp(name, "sqlite_", strlen("sqlite_")) ||
        !strncmp(name, "json_", strlen("json_")))
        return refuse_view(name, "its characters, or its beginning, are not for views of a program", err);
    s->limited.on = false; /* perfkit's own question */
    const enum pk_code code = pk_db_int(s, err, &taken, 0, "object_named", "t", name);
    s->limited.on = true;
    if (code)
        return code;
    if (taken)
        return refuse_view(name, "the store has a table or a view of this name", err);
    sqlite3_stmt *stmt;
    if (pk_db_one_select(s, sql, &stmt, err))
        return err->code;
    sqlite3_finalize(stmt);
    return PK_OK;
}
