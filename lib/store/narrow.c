/* Narrow: perfkit's own views, showing one run.
 *
 * What joins a view to cases reads the whole of it first, so that a table of one run took a time proportional to the store. */
#include "store/db.h"
#include "store/table.h"

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
