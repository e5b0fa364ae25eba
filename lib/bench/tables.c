/* Tables: choosing what a run prints by its experiments. */
#include "bench/tables.h"

#include "bench/counted.h"
#include "bench/probe.h"
#include "bench/states.h"
#include "store/table.h"

#include <string.h>

/* What was measured beside the times, of any experiment. */
static const char *const beside[] = {"roofline",        "breakdown",   "memory_peaks",
                                     "memory_timeline", "calibration", NULL};

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

/* A row per reason of v_doubt: how many cases and slices, and the first cases by variant and the axes that differ. */
static const char doubts[] =
    "WITH varying AS (SELECT a.key FROM v_case c, json_each(c.axes) a"
    "                 WHERE c.run_id = :run AND c.experiment = :experiment GROUP BY a.key"
    "                 HAVING count(DISTINCT a.value) > 1),"
    " named AS (SELECT c.case_id, c.ordinal, c.variant || coalesce((SELECT ' ' || group_concat(a.key || '=' "
    "||"
    "                  a.value, ' ') FROM json_each(c.axes) a WHERE a.key IN varying), '') AS name"
    "           FROM v_case c WHERE c.run_id = :run AND c.experiment = :experiment),"
    " doubted AS (SELECT d.doubt, d.meaning, n.name, count(*) AS slices,"
    "                    row_number() OVER (PARTITION BY d.doubt ORDER BY n.ordinal) AS place"
    "             FROM v_doubt d JOIN named n ON n.case_id = d.case_id"
    "             WHERE d.run_id = :run AND d.pass = 'timing' GROUP BY d.doubt, n.case_id),"
    " all_of_them AS (SELECT count(DISTINCT l.case_id) AS cases, count(*) AS slices"
    "                 FROM v_slice l JOIN named n ON n.case_id = l.case_id"
    "                 WHERE l.run_id = :run AND l.pass = 'timing' AND l.status = 'ok')"
    " SELECT 'Of ' || t.cases || iif(t.cases = 1, ' case, ', ' cases, ') || count(*) || ' (' ||"
    "        sum(d.slices) || ' of ' || t.slices || iif(t.slices = 1, ' slice) ', ' slices) ') ||"
    "        iif(count(*) = 1 AND d.meaning GLOB 'were *', 'was ' || substr(d.meaning, 6), d.meaning) || ': "
    "' ||"
    "        group_concat(d.name, '; ') FILTER (WHERE d.place <= 3) ||"
    "        CASE WHEN count(*) > 3 THEN '; and ' || (count(*) - 3) || ' more' ELSE '' END || '.'"
    " FROM doubted d JOIN all_of_them t GROUP BY d.doubt ORDER BY d.doubt";

/* What makes results doubtful, under the last of an experiment's tables. */
static enum pk_code print_doubts(struct pk_store *s, const char *experiment, int64_t run_id,
                                 struct pk_out *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    const struct pk_param params[] = {pk_param_int(":run", run_id), pk_param_text(":experiment", experiment)};
    if (pk_store_query(s, doubts, params, sizeof params / sizeof *params, &a, &rows, err))
        return err->code;
    for (size_t i = 0; i < rows.n; i++)
        pk_out_note(out, rows.cells[i].s);
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
                  run_id, out, err) ||
            print_doubts(s, experiment, run_id, out, err) ||
            (strcmp(experiment, "exec") != 0 && /* "counters" is its table of them */
             pk_counted_table(s, run_id, experiment, out, err)) ||
            print(s, pk_store_tables(), beside, experiment, run_id, out, err))
            return err->code;
    }
    struct pk_run_state state;
    if (pk_run_state_read(s, run_id, &a, &state, err))
        return err->code;
    pk_run_states_print(out, &state, 1, &a);
    return PK_OK;
}
