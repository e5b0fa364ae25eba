/* Tables: choosing what a run prints by its experiments. */
#include "bench/tables.h"

#include "bench/probe.h"
#include "store/table.h"

static const char *const built_in[] = {"commands",    "counters",      "case_times", "case_memory",
                                       "case_values", "case_problems", NULL};

static enum pk_code print(struct pk_store *s, const char *sql, const char *const *tables,
                          const char *experiment, int64_t run_id, struct pk_out *out, struct pk_err *err)
{
    const struct pk_param params[] = {pk_param_int(":run", run_id), pk_param_text(":experiment", experiment)};
    for (; *tables; tables++)
        if (pk_table_print(s, sql, *tables, params, sizeof params / sizeof *params, out, err))
            return err->code;
    return PK_OK;
}

enum pk_code pk_run_tables(struct pk_store *s, int64_t run_id, struct pk_out *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    const struct pk_param run = pk_param_int(":run", run_id);
    if (pk_store_query(
            s, "SELECT experiment FROM v_case WHERE run_id = :run GROUP BY experiment ORDER BY min(ordinal)",
            &run, 1, &a, &rows, err))
        return err->code;
    for (size_t i = 0; i < rows.n; i++) {
        const char *experiment = rows.cells[i * rows.n_cols].s;
        const struct pk_probe *p = pk_probe_find(experiment);
        bool own = p && p->tables && p->tables[0];
        if (print(s, own ? pk_probe_sql(p) : pk_store_tables(), own ? p->tables : built_in, experiment,
                  run_id, out, err))
            return err->code;
    }
    return PK_OK;
}
