/* Keep: whether a store is sound, and making it smaller. */
#include "store/db.h"

#include "base/text/buf.h"

/* Lines of a pragma that finds nothing when all is well; "ok" is integrity_check's word for that. */
static enum pk_code add_findings(struct pk_store *s, const char *sql, const char *format, struct pk_buf *out,
                                 struct pk_err *err)
{
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return pk_db_fail(s, err);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        char *line = sqlite3_mprintf(format, sqlite3_column_text(stmt, 0), sqlite3_column_int64(stmt, 1));
        pk_buf_printf(out, "%s%s", out->n ? "; " : "", line);
        sqlite3_free(line);
    }
    return sqlite3_finalize(stmt) == SQLITE_OK ? PK_OK : pk_db_fail(s, err);
}

enum pk_code pk_store_check(struct pk_store *s, struct pk_arena *a, const char **problem, struct pk_err *err)
{
    struct pk_buf found = {.arena = a};
    s->doing = "check it";
    *problem = NULL;
    if (add_findings(
            s, "SELECT integrity_check, 0 FROM pragma_integrity_check(20) WHERE integrity_check <> 'ok'",
            "%s", &found, err) ||
        add_findings(s, "SELECT \"table\", rowid FROM pragma_foreign_key_check LIMIT 20",
                     "table %s, row %lld: what it belongs to is missing", &found, err))
        return err->code;
    if (found.n)
        *problem = pk_buf_text(&found);
    return PK_OK;
}

/* Runs that still go are kept whatever their age, and those of pinned baselines. */
#define OLD_RUNS                                                                                             \
    "FROM run WHERE status <> 'running' AND id NOT IN (SELECT id FROM run ORDER BY id DESC LIMIT ?1)"        \
    " AND id NOT IN (SELECT run_id FROM baseline_run)"

enum pk_code pk_store_prune(struct pk_store *s, int64_t keep_newest, bool dry_run, int64_t *runs_removed,
                            struct pk_err *err)
{
    s->doing = "count old runs";
    if (dry_run)
        return pk_db_int(s, err, runs_removed, 0, "SELECT count(*) " OLD_RUNS, "i", keep_newest);
    if (pk_db_begin(s, "remove old runs", err))
        return err->code;
    enum pk_code code = pk_db_int(s, err, runs_removed, 0, "SELECT count(*) " OLD_RUNS, "i", keep_newest);
    if (code == PK_OK)
        code = pk_db_run(s, err, "DELETE " OLD_RUNS, "i", keep_newest);
    if (pk_db_end(s, code, err) || !*runs_removed)
        return err->code * (code != PK_OK);
    s->doing = "give the space of removed runs back";
    return pk_db_script(s, "VACUUM", err);
}
