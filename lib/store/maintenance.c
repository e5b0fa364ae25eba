/* Maintenance: whether a store is sound, making it smaller, and taking over the runs of another. */
#include "store/db.h"

#include "base/text/buf.h"

#include <string.h>

/* Adds the lines of a query that finds nothing when all is well. */
static enum pk_code add_findings(struct pk_store *s, const char *query, struct pk_buf *out,
                                 struct pk_err *err)
{
    struct pk_rows rows;
    if (pk_db_query(s, query, NULL, 0, out->arena, &rows, err))
        return err->code;
    for (size_t i = 0; i < rows.n; i++)
        pk_buf_printf(out, "%s%s", out->n ? "; " : "", rows.cells[i].s);
    return PK_OK;
}

enum pk_code pk_store_check(struct pk_store *s, struct pk_arena *a, const char **problem, struct pk_err *err)
{
    struct pk_buf found = {.arena = a};
    s->doing = "check it";
    *problem = NULL;
    s->watch.long_task = true;
    enum pk_code code = add_findings(s, "integrity", &found, err);
    if (!code && !found.n) /* in a damaged file a table can seem to be endless */
        code = add_findings(s, "foreign_keys", &found, err);
    s->watch.long_task = false;
    if (!code && found.n)
        *problem = pk_buf_text(&found);
    return code;
}

/* The rows and, when they are gone, the space that they took. */
static enum pk_code remove_runs(struct pk_store *s, int64_t keep_newest, int64_t *runs_removed,
                                struct pk_err *err)
{
    s->doing = "remove old runs";
    if (pk_db_refuse_damaged(s, "main", s->path, err) || pk_db_begin(s, "remove old runs", err))
        return err->code;
    enum pk_code code = pk_db_int(s, err, runs_removed, 0, "count_old_runs", "i", keep_newest);
    if (code == PK_OK)
        code = pk_db_run(s, err, "delete_old_runs", "i", keep_newest);
    code = pk_db_end(s, code, err);
    if (code || !*runs_removed)
        return code;
    s->doing = "release the space of removed runs";
    return pk_db_run(s, err, "vacuum", "");
}

enum pk_code pk_store_prune(struct pk_store *s, int64_t keep_newest, bool dry_run, int64_t *runs_removed,
                            struct pk_err *err)
{
    s->doing = "count old runs";
    if (dry_run)
        return pk_db_int(s, err, runs_removed, 0, "count_old_runs", "i", keep_newest);
    s->watch.long_task = true;
    enum pk_code code = remove_runs(s, keep_newest, runs_removed, err);
    s->watch.long_task = false;
    return code;
}

/* Copies the rows of the attached store that this one does not have. */
static enum pk_code copy_runs(struct pk_store *s, int64_t *runs_added, struct pk_err *err)
{
    if (pk_db_begin(s, "merge another store", err))
        return err->code;
    enum pk_code code = pk_db_exec(s, "forget_merge", err);
    if (code == PK_OK)
        code = pk_db_exec(s, "merge", err);
    if (code == PK_OK)
        code = pk_db_int(s, err, runs_added, 0, "count_merged", "");
    return pk_db_end(s, code, err);
}

enum pk_code pk_store_merge(struct pk_store *s, const char *other_path, int64_t *runs_added,
                            struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_store *other;
    s->doing = "merge another store";
    *runs_added = 0;
    /* the other file must pass every check of an untrusted file; opening it as one does them */
    enum pk_code code = pk_store_open(other_path, PK_STORE_UNTRUSTED, &s->wait, &other, err);
    pk_store_close(other);
    s->watch.long_task = true;
    if (code == PK_OK)
        code = pk_db_run(s, err, "attach_other", "t", pk_db_untrusted_uri(&a, other_path));
    if (code == PK_OK)
        code = pk_db_verify_schema(s, true, pk_db_newest_version(), other_path, err);
    if (code == PK_OK)
        code = pk_db_refuse_damaged(s, "other", other_path, err);
    if (code == PK_OK)
        code = copy_runs(s, runs_added, err);
    s->watch.long_task = false;
    pk_db_attempt(s, "forget_merge");
    pk_db_attempt(s, "detach_other");
    return code;
}
