/* Schema: migrations, the views over them, and views that show one run. */
#include "store/db.h"

#include "base/build.h"
#include "base/err.h"
#include "base/text/buf.h"
#include "store/table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

extern const struct pk_embedded pk_schema[]; /* NNNN-what.sql in order, then views.sql */

static bool is_migration(const struct pk_embedded *e)
{
    return isdigit((unsigned char)e->name[0]);
}

/* The version that a migration makes is the number its name begins with. */
static int version_of(const struct pk_embedded *e)
{
    return (int)strtol(e->name, NULL, 10);
}

int pk_db_first_version(void)
{
    return version_of(pk_schema);
}

int pk_db_newest_version(void)
{
    int newest = 0;
    for (const struct pk_embedded *e = pk_schema; e->name; e++)
        newest = is_migration(e) ? version_of(e) : newest;
    return newest;
}

static const char *views_text(void)
{
    for (const struct pk_embedded *e = pk_schema; e->name; e++)
        if (!is_migration(e))
            return e->text;
    pk_assert(!"views.sql is embedded");
    return NULL;
}

/* Drops every view whose name begins with v_, so that views.sql can be run again. */
static enum pk_code drop_views(struct pk_store *s, struct pk_err *err)
{
    sqlite3_stmt *stmt;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_buf sql = {.arena = &a};
    if (pk_db_stmt(s, "SELECT name FROM sqlite_schema WHERE type = 'view' AND name GLOB 'v_*'", &stmt, err))
        return err->code;
    while (sqlite3_step(stmt) == SQLITE_ROW)
        pk_buf_printf(&sql, "DROP VIEW %s;", sqlite3_column_text(stmt, 0));
    if (sqlite3_reset(stmt) != SQLITE_OK)
        return pk_db_fail(s, err);
    return pk_db_script(s, pk_buf_text(&sql), err);
}

static enum pk_code apply_from(struct pk_store *s, int version, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    for (const struct pk_embedded *e = pk_schema; e->name; e++)
        if (is_migration(e) && version_of(e) > version && pk_db_script(s, e->text, err))
            return err->code;
    if (drop_views(s, err) || pk_db_script(s, views_text(), err))
        return err->code;
    return pk_db_script(s,
                        pk_printf(&a, "PRAGMA application_id = %d; PRAGMA user_version = %d",
                                  PK_DB_APPLICATION_ID, pk_db_newest_version()),
                        err);
}

/* The version is read again under the lock: another process may have migrated meanwhile. */
enum pk_code pk_db_migrate(struct pk_store *s, struct pk_err *err)
{
    int64_t version;
    s->doing = "prepare its tables";
    if (pk_db_int(s, err, &version, 0, "PRAGMA user_version", ""))
        return err->code;
    if (version == pk_db_newest_version())
        return PK_OK;
    if (pk_db_begin(s, "prepare its tables", err))
        return err->code;
    enum pk_code code = pk_db_int(s, err, &version, 0, "PRAGMA user_version", "");
    if (code == PK_OK && version < pk_db_newest_version())
        code = apply_from(s, (int)version, err);
    return pk_db_end(s, code, err);
}

enum pk_code pk_db_temp_views(struct pk_store *s, struct pk_err *err)
{
    static const char create[] = "CREATE VIEW ";
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_buf sql = {.arena = &a};
    const char *text = views_text();
    for (const char *next; (next = strstr(text, create)); text = next + strlen(create)) {
        pk_buf_add(&sql, text, (size_t)(next - text));
        pk_buf_str(&sql, "CREATE TEMP VIEW ");
    }
    pk_buf_str(&sql, text);
    s->doing = "prepare its views";
    return pk_db_script(s, pk_buf_text(&sql), err);
}

/* Every table of the newest schema, as SQLite stores its text, built in memory from the same files. */
static enum pk_code expected_tables(struct pk_store *s, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_buf sql = {.arena = &a};
    sqlite3 *own;
    sqlite3_stmt *stmt = NULL;
    bool ok = sqlite3_open(":memory:", &own) == SQLITE_OK;
    for (const struct pk_embedded *e = pk_schema; e->name && ok; e++)
        ok = !is_migration(e) || sqlite3_exec(own, e->text, NULL, NULL, NULL) == SQLITE_OK;
    ok = ok && sqlite3_prepare_v2(own, "SELECT name, sql FROM sqlite_schema WHERE type = 'table'", -1, &stmt,
                                  NULL) == SQLITE_OK;
    pk_buf_str(&sql, "CREATE TEMP TABLE IF NOT EXISTS expected_table(name TEXT PRIMARY KEY, sql TEXT); "
                     "DELETE FROM expected_table;");
    while (ok && sqlite3_step(stmt) == SQLITE_ROW) {
        char *row = sqlite3_mprintf("INSERT INTO expected_table VALUES(%Q,%Q);", sqlite3_column_text(stmt, 0),
                                    sqlite3_column_text(stmt, 1));
        pk_buf_str(&sql, row);
        sqlite3_free(row);
    }
    sqlite3_finalize(stmt);
    sqlite3_close(own);
    pk_assert(ok);
    return pk_db_script(s, pk_buf_text(&sql), err);
}

/* A table must have the very text perfkit gave it: then no view, generated column or check of a stranger can
 * stand in for it. */
enum pk_code pk_db_verify_tables(struct pk_store *s, const char *schema, const char *path, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    if (expected_tables(s, err))
        return err->code;
    const char *sql = pk_printf(&a,
                                "SELECT e.name FROM expected_table e LEFT JOIN \"%s\".sqlite_schema m"
                                " ON m.name = e.name AND m.type = 'table' AND m.sql = e.sql"
                                " WHERE m.name IS NULL AND e.name <> 'sqlite_sequence' LIMIT 1",
                                schema);
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return pk_db_fail(s, err);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        pk_fail(err, PK_E_IO, "store %s: refused", path);
        pk_why(err, "its table '%s' is not the one that perfkit creates", sqlite3_column_text(stmt, 0));
        pk_fix(err, "get the file as perfkit wrote it; nothing in this one was read");
    } else if (rc != SQLITE_DONE) {
        pk_db_fail(s, err);
    }
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? PK_OK : err->code;
}

/* --- one run ---------------------------------------------------------------------------------------------------------
 *
 * What joins a view to cases reads the whole of it first, so that a table of one run took a time proportional to the store. */

/* Every view that has a column run_id and is about runs: a baseline is about names. */
static const char narrowed[] =
    "SELECT group_concat('DROP VIEW temp.' || name || '; CREATE TEMP VIEW ' || name || ' AS SELECT * FROM (' "
    "||"
    "                    substr(sql, instr(sql, ' AS') + 3) || ') WHERE run_id = ' || :run, '; ')"
    " FROM sqlite_temp_schema"
    " WHERE type = 'view' AND name GLOB 'v_*' AND name NOT GLOB 'v_baseline*' AND name <> 'v_topology'";

static const char all[] = "SELECT group_concat('DROP VIEW temp.' || name, '; ') FROM sqlite_temp_schema"
                          " WHERE type = 'view' AND name GLOB 'v_*'";

/* Runs the statements that a query answers with. */
static enum pk_code run_answer(struct pk_store *s, const char *sql, const struct pk_param *params, size_t n,
                               struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    if (pk_store_query(s, sql, params, n, &a, &rows, err))
        return err->code;
    return pk_db_script(s, rows.cells[0].s, err);
}

enum pk_code pk_store_narrow(struct pk_store *s, int64_t run_id, struct pk_err *err)
{
    const struct pk_param run = pk_param_int(":run", run_id);
    return run_answer(s, narrowed, &run, 1, err);
}

enum pk_code pk_store_widen(struct pk_store *s, struct pk_err *err)
{
    if (run_answer(s, all, NULL, 0, err))
        return err->code;
    return pk_db_temp_views(s, err);
}
