/* Tables: choosing what a run prints by its experiments. */
#include "bench/tables/tables.h"

#include "bench/probe.h"
#include "store/table.h"

#include <string.h>

/* What was measured beside the times, of any experiment. */
static const char *const beside[] = {"roofline",        "breakdown",   "breakdown_regions", "memory_peaks",
                                     "memory_timeline", "calibration", "verdicts",          NULL};

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
    " SELECT count(*) || ' of ' || t.cases || iif(t.cases = 1, ' case (', ' cases (') ||"
    "        sum(d.slices) || ' of ' || t.slices || iif(t.slices = 1, ' slice) ', ' slices) ') ||"
    "        iif(count(*) = 1 AND d.meaning GLOB 'were *', 'was ' || substr(d.meaning, 6), d.meaning) || ': "
    "' ||"
    "        group_concat(d.name, '; ') FILTER (WHERE d.place <= 3) ||"
    "        CASE WHEN count(*) > 3 THEN '; and ' || (count(*) - 3) || ' more' ELSE '' END || '.'"
    " FROM doubted d JOIN all_of_them t GROUP BY d.doubt ORDER BY d.doubt";

/* What was run, when, on what: of settings that a worker says as often as there are processes, each once. */
static const char which[] =
    "WITH said AS (SELECT key, group_concat(DISTINCT value) AS value FROM v_setting"
    "              WHERE run_id = :run AND key IN ('gpu', 'threads') GROUP BY key),"
    " ran AS (SELECT *, (SELECT group_concat(DISTINCT device) FROM main.run_case WHERE run_id = :run) AS "
    "device"
    "         FROM v_run WHERE run_id = :run)"
    " SELECT iif(:kept, 'Run ' || run_id || coalesce(' (' || label || ')', ''), 'A run that is not kept') || "
    "', ' ||"
    "        replace(substr(started_at, 1, 16), 'T', ' ') || ' UTC: ' || experiment || ' on ' || device ||"
    "        iif(device = 'null', '', ', ' || coalesce((SELECT value FROM said WHERE key = 'gpu'),"
    "                                                  nullif(machine ->> 'cpu_model', ''), machine ->> "
    "'arch')) ||"
    "        coalesce(', ' || (SELECT value || iif(value = '1', ' thread', ' threads') FROM said WHERE key ="
    "                          'threads'), '') ||"
    "        ', perfkit ' || version || iif(status = 'complete', '', ', ' || status) || '.'"
    " FROM ran WHERE EXISTS (SELECT 1 FROM v_slice WHERE run_id = :run AND status <> 'skipped')";

/* Above the first table, unless nothing was tried. */
static enum pk_code print_which(struct pk_store *s, int64_t run_id, struct pk_out *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    const struct pk_param params[] = {pk_param_int(":run", run_id),
                                      pk_param_int(":kept", strcmp(pk_store_file(s), ":memory:") != 0)};
    if (pk_store_query(s, which, params, sizeof params / sizeof *params, &a, &rows, err))
        return err->code;
    if (rows.n && rows.cells[0].type == PK_CELL_TEXT)
        pk_out_note(out, rows.cells[0].s);
    return PK_OK;
}

/* What peers took before their times begin: note `startup` of their slices. */
static const char startups[] =
    "SELECT variant || printf(' took %.1f s to start', start_ns * 1e-9) ||"
    "       iif(compile_ns IS NULL, '', printf(' and at most %.1f s to compile a case', compile_ns * 1e-9)) "
    "|| "
    "'; its times leave that out.'"
    " FROM (SELECT c.variant, max(l.notes ->> '$.startup.start_ns') AS start_ns,"
    "              max(l.notes ->> '$.startup.compile_ns') AS compile_ns"
    "       FROM v_slice l JOIN v_case c ON c.case_id = l.case_id"
    "       WHERE c.run_id = :run AND c.experiment = :experiment AND l.notes ->> '$.startup.start_ns' > 0"
    "       GROUP BY c.variant ORDER BY min(c.ordinal))";

/* Under the last of an experiment's tables: a note for each row. */
static enum pk_code print_notes(struct pk_store *s, const char *sql, const char *experiment, int64_t run_id,
                                struct pk_out *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    const struct pk_param params[] = {pk_param_int(":run", run_id), pk_param_text(":experiment", experiment)};
    if (pk_store_query(s, sql, params, sizeof params / sizeof *params, &a, &rows, err))
        return err->code;
    for (size_t i = 0; i < rows.n; i++)
        pk_out_note(out, rows.cells[i].s);
    return PK_OK;
}

/* A command that was counted as usual: the built-in table "counters" has it. */
static bool usual_counters(struct pk_store *s, int64_t run_id, const char *experiment)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    struct pk_err err;
    const struct pk_param run = pk_param_int(":run", run_id);
    return !strcmp(experiment, "exec") &&
           (pk_store_query(
                s, "SELECT 1 FROM v_run WHERE run_id = :run AND typeof(settings ->> 'counters') = 'text'",
                &run, 1, &a, &rows, &err) ||
            !rows.n);
}

static enum pk_code print_experiment(struct pk_store *s, const char *experiment, int64_t run_id,
                                     struct pk_out *out, struct pk_err *err)
{
    const struct pk_probe *p = pk_probe_find(experiment);
    const bool own = p && p->tables && p->tables[0];
    if (print(s, own ? pk_probe_sql(p) : pk_store_tables(), own ? p->tables : built_in, experiment, run_id,
              out, err) ||
        print_notes(s, startups, experiment, run_id, out, err) ||
        print_notes(s, doubts, experiment, run_id, out, err) ||
        (!usual_counters(s, run_id, experiment) && pk_counter_table(s, run_id, experiment, out, err)))
        return err->code;
    return print(s, pk_store_tables(), beside, experiment, run_id, out, err);
}

static enum pk_code print_all(struct pk_store *s, int64_t run_id, struct pk_out *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    struct pk_run_state state;
    const struct pk_param run = pk_param_int(":run", run_id);
    if (pk_store_query(
            s, "SELECT experiment FROM v_case WHERE run_id = :run GROUP BY experiment ORDER BY min(ordinal)",
            &run, 1, &a, &rows, err) ||
        print_which(s, run_id, out, err))
        return err->code;
    for (size_t i = 0; i < rows.n; i++)
        if (print_experiment(s, rows.cells[i * rows.n_cols].s, run_id, out, err))
            return err->code;
    if (pk_run_state_read(s, run_id, &a, &state, err))
        return err->code;
    pk_run_states_print(out, &state, 1, &a);
    return PK_OK;
}

enum pk_code pk_run_tables(struct pk_store *s, int64_t run_id, struct pk_out *out, struct pk_err *err)
{
    struct pk_err second;
    if (pk_store_narrow(s, run_id, err))
        return err->code;
    const enum pk_code printed = print_all(s, run_id, out, err);
    const enum pk_code widened = pk_store_widen(s, printed ? &second : err);
    return printed ? printed : widened;
}

static const char messages[] =
    "SELECT message, count(*) FROM v_case WHERE run_id = :run AND status = 'failed'"
    " GROUP BY message ORDER BY count(*) DESC, min(ordinal)";

const char *pk_failed_text(struct pk_store *s, int64_t run_id, struct pk_arena *a)
{
    enum { MESSAGE, CASES };
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows rows;
    struct pk_err ignored;
    if (pk_store_query(s, messages, &run, 1, a, &rows, &ignored) || !rows.n || !*rows.cells[MESSAGE].s)
        return "the tables' notes say of each what it was";
    if (rows.n == 1)
        return rows.cells[MESSAGE].s;
    return pk_printf(a, "%lld of them: %s; the tables' notes say of each what it was",
                     (long long)rows.cells[CASES].i, rows.cells[MESSAGE].s);
}
