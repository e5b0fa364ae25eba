/* Schema: migrations, the views over them, views that show one run, and those of a text: the only SQL that is put together in C. */
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

/* Runs the statements that a query gives as one text. */
static enum pk_code run_text(struct pk_store *s, const char *query, const struct pk_param *params, size_t n,
                             struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    if (pk_db_query(s, query, params, n, &a, &rows, err))
        return err->code;
    return pk_db_script(s, rows.cells[0].s, err);
}

static enum pk_code apply_from(struct pk_store *s, int version, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    for (const struct pk_embedded *e = pk_schema; e->name; e++)
        if (is_migration(e) && version_of(e) > version && pk_db_script(s, e->text, err))
            return err->code;
    if (run_text(s, "drop_views", NULL, 0, err) || pk_db_script(s, views_text(), err))
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
    if (pk_db_int(s, err, &version, 0, "user_version", ""))
        return err->code;
    if (version == pk_db_newest_version())
        return PK_OK;
    if (pk_db_begin(s, "prepare its tables", err))
        return err->code;
    enum pk_code code = pk_db_int(s, err, &version, 0, "user_version", "");
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

/* A table must have the very text that perfkit gave it, as SQLite stores it (here: in memory, from the same files): then no view, generated
 * column or check of a stranger can stand in for it. */
enum pk_code pk_db_verify_tables(struct pk_store *s, bool other, const char *path, struct pk_err *err)
{
    sqlite3 *own;
    sqlite3_stmt *table = NULL;
    enum pk_code code = PK_OK;
    bool ok = sqlite3_open(":memory:", &own) == SQLITE_OK;
    for (const struct pk_embedded *e = pk_schema; e->name && ok; e++)
        ok = !is_migration(e) || sqlite3_exec(own, e->text, NULL, NULL, NULL) == SQLITE_OK;
    ok = ok && sqlite3_prepare_v2(own, pk_db_statement("tables"), -1, &table, NULL) == SQLITE_OK;
    pk_assert(ok);
    while (!code && sqlite3_step(table) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(table, 0);
        int64_t same;
        code = pk_db_int(s, err, &same, 0, other ? "same_table_of_other" : "same_table", "tt", name,
                         (const char *)sqlite3_column_text(table, 1));
        if (code || same)
            continue;
        pk_fail(err, PK_E_IO, "store %s: refused", path);
        pk_why(err, "its table '%s' is not the one that perfkit creates", name);
        code = pk_fix(err, "get the file as perfkit wrote it; nothing in this one was read");
    }
    sqlite3_finalize(table);
    sqlite3_close(own);
    return code;
}

/* --- one run ---------------------------------------------------------------------------------------------------------
 *
 * What joins a view to cases reads the whole of it first, so that a table of one run took a time proportional to the store. */

enum pk_code pk_store_narrow(struct pk_store *s, int64_t run_id, struct pk_err *err)
{
    const struct pk_param run = pk_param_int(":run", run_id);
    return run_text(s, "narrow_views", &run, 1, err);
}

enum pk_code pk_store_widen(struct pk_store *s, struct pk_err *err)
{
    if (run_text(s, "drop_temp_views", NULL, 0, err))
        return err->code;
    return pk_db_temp_views(s, err);
}

enum pk_code pk_db_text_views(struct pk_store *s, const struct pk_section *v, size_t n, bool make,
                              struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    for (size_t i = 0; i < n; i++) {
        const char *sql = make ? pk_printf(&a, "CREATE TEMP VIEW %s AS %s", v[i].name, v[i].sql)
                               : pk_printf(&a, "DROP VIEW IF EXISTS temp.%s", v[i].name);
        if (v[i].kind == PK_SECTION_VIEW && pk_db_script(s, sql, err))
            return pk_within(err, "view %s", v[i].name);
    }
    return PK_OK;
}
