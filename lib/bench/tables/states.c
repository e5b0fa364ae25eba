/* States: a run's states added up, and their table. */
#include "bench/tables/tables.h"

#include "store/table.h"

#include <string.h>

static const struct pk_column columns[] = {
    {.key = "slices", .heading = "Slices", .decimals = -1, .machine = true},
    {.key = "load", .heading = "Load", .decimals = 2},
    {.key = "load_most", .heading = "at most", .decimals = 2},
    {.key = "frequency_hz", .heading = "Clock (GHz)", .scale = 1e9, .decimals = 2},
    {.key = "frequency_least_hz", .heading = "at least", .scale = 1e9, .decimals = 2},
    {.key = "steal_share", .heading = "Stolen (%)", .scale = 0.01, .decimals = 1},
    {.key = "pressure_cpu_share", .heading = "CPU wait (%)", .scale = 0.01, .decimals = 1},
    {.key = "pressure_memory_share", .heading = "Memory wait (%)", .scale = 0.01, .decimals = 1},
    {.key = "pressure_io_share", .heading = "Disk wait (%)", .scale = 0.01, .decimals = 1, .optional = 1},
    {.key = "quota_stops", .heading = "Quota stops", .decimals = -1},
    {.key = "thermal_stops", .heading = "Thermal stops", .decimals = -1},
    {.key = "noise_lost", .heading = "Interrupted (%)", .scale = 0.01, .decimals = 1},
    {.key = "noise_worst_ns", .heading = "longest (ms)", .scale = 1e6, .decimals = 3, .optional = 2},
    {.key = "governor", .heading = "Governor", .left = true},
    {.key = "turbo", .heading = "Turbo", .left = true, .optional = 4},
    {.key = "smt", .heading = "SMT", .left = true, .optional = 3},
    {.key = "thp", .heading = "Huge pages", .left = true, .optional = 5},
    {.key = "gpu_clock_hz", .heading = "GPU (GHz)", .scale = 1e9, .decimals = 2},
    {.key = "gpu_clock_least_hz", .heading = "at least", .scale = 1e9, .decimals = 2},
    {.key = "gpu_power_w", .heading = "GPU (W)", .decimals = 0},
    {.key = "gpu_temperature_c", .heading = "GPU (°C)", .decimals = 0},
    {.key = "gpu_held_back", .heading = "GPU held back", .left = true},
    {.key = "gpu_other_processes", .heading = "Others on GPU", .decimals = -1},
    {.key = "doubts", .heading = "Doubtful cases", .left = true},
};
enum { SLICES, COLUMNS = sizeof columns / sizeof *columns, DOUBTS = COLUMNS - 1 };

/* The cases that are read: their ids are a range, as those of a run are given at once. */
static const char cases_sql[] =
    "SELECT min(id), max(id), (SELECT count(*) FROM main.run_case WHERE run_id = :run) > :most"
    " FROM (SELECT id FROM main.run_case WHERE run_id = :run ORDER BY ordinal LIMIT :most)";

/* By the range of cases and not by the run (hence the +): that would read all of them. Shares are of the time of the slices that
 * say anything, all CPUs added up. */
static const char state_sql[] =
    "WITH f AS MATERIALIZED (SELECT slice_id, name, before, after FROM v_state"
    "  WHERE case_id BETWEEN :first AND :last AND +run_id = :run AND pass = 'timing'),"
    " t AS (SELECT sum(elapsed_ns) AS ns FROM main.slice WHERE id IN (SELECT slice_id FROM f)),"
    " words AS MATERIALIZED (SELECT name, group_concat(DISTINCT"
    "   iif(before = after, before, before || ' → ' || after)) AS said"
    "  FROM f WHERE typeof(before) = 'text' AND before <> '' GROUP BY name),"
    " d AS (SELECT doubt, count(DISTINCT case_id) AS n FROM v_doubt"
    "  WHERE case_id BETWEEN :first AND :last AND +run_id = :run AND pass = 'timing' GROUP BY doubt)"
    "SELECT count(DISTINCT slice_id),"
    " avg((before + after) / 2.0) FILTER (WHERE name = 'load'),"
    " max(max(before, after)) FILTER (WHERE name = 'load'),"
    " avg((before + after) / 2.0) FILTER (WHERE name = 'frequency_hz'),"
    " min(min(before, after)) FILTER (WHERE name = 'frequency_hz'),"
    " sum(after - before) FILTER (WHERE name = 'steal_ns') / (SELECT ns FROM t),"
    " sum(after - before) FILTER (WHERE name = 'pressure_cpu_ns') / (SELECT ns FROM t),"
    " sum(after - before) FILTER (WHERE name = 'pressure_memory_ns') / (SELECT ns FROM t),"
    " sum(after - before) FILTER (WHERE name = 'pressure_io_ns') / (SELECT ns FROM t),"
    " sum(after - before) FILTER (WHERE name = 'quota_stops'),"
    " sum(after - before) FILTER (WHERE name = 'thermal_stops'),"
    " avg((before + after) / 2.0) FILTER (WHERE name = 'noise_lost'),"
    " max(max(before, after)) FILTER (WHERE name = 'noise_worst_ns'),"
    " (SELECT said FROM words WHERE name = 'governor'),"
    " (SELECT said FROM words WHERE name = 'turbo'),"
    " (SELECT said FROM words WHERE name = 'smt'),"
    " (SELECT said FROM words WHERE name = 'thp'),"
    " avg((before + after) / 2.0) FILTER (WHERE name = 'sm_clock_hz'),"
    " min(min(before, after)) FILTER (WHERE name = 'sm_clock_hz'),"
    " avg((before + after) / 2.0) FILTER (WHERE name = 'power_w'),"
    " max(max(before, after)) FILTER (WHERE name = 'temperature_c'),"
    " (SELECT said FROM words WHERE name = 'held_back'),"
    " max(max(before, after)) FILTER (WHERE name = 'other_processes'),"
    " (SELECT group_concat(n || ' ' || doubt, ', ') FROM d)"
    " FROM f";

enum pk_code pk_run_state_read(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                               struct pk_run_state *out, struct pk_err *err)
{
    const struct pk_param run[] = {pk_param_int(":run", run_id), pk_param_int(":most", PK_STATES_CASES)};
    struct pk_rows cases, r;
    *out = (struct pk_run_state){.run_id = run_id};
    if (pk_store_query(s, cases_sql, run, 2, a, &cases, err))
        return err->code;
    const struct pk_param params[] = {run[0], {":first", cases.cells[0]}, {":last", cases.cells[1]}};
    if (pk_store_query(s, state_sql, params, 3, a, &r, err))
        return err->code;
    out->partly = cases.cells[2].i;
    if (r.cells[SLICES].i || r.cells[DOUBTS].type != PK_CELL_NULL)
        out->cells = r.cells;
    return PK_OK;
}

/* Not NULL, and no total that stayed 0. */
static bool says_something(const struct pk_cell *c)
{
    return c->type == PK_CELL_TEXT || (c->type == PK_CELL_INT && c->i) ||
           (c->type == PK_CELL_REAL && c->f > 0);
}

static bool any_says(const struct pk_run_state *v, size_t n, size_t column)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].cells && says_something(&v[i].cells[column]))
            return true;
    return false;
}

void pk_run_states_print(struct pk_out *out, const struct pk_run_state *v, size_t n, struct pk_arena *a)
{
    enum { SIDE, RUN, FIRST };
    const bool alone = !v[0].side;
    bool any = false, begun = false, partly = false;
    struct pk_column cols[FIRST + COLUMNS] = {
        [SIDE] = {.key = "side", .heading = "Side", .left = true, .machine = alone},
        [RUN] = {.key = "run_id", .heading = "Run", .decimals = -1, .machine = alone},
    };
    memcpy(cols + FIRST, columns, sizeof columns);
    cols[FIRST + DOUBTS].machine = alone; /* they are notes of the tables before */
    for (size_t c = 0; c < COLUMNS; c++) {
        cols[FIRST + c].machine |= !any_says(v, n, c);
        any |= !cols[FIRST + c].machine;
    }
    if (!any)
        return;
    for (size_t i = 0; i < n; i++) {
        if (!v[i].cells)
            continue;
        if (!begun)
            pk_out_table(out, "states", "State of the machine while it was timed", cols, FIRST + COLUMNS);
        begun = true;
        partly |= v[i].partly;
        struct pk_cell row[FIRST + COLUMNS] = {
            [SIDE] = {.type = v[i].side ? PK_CELL_TEXT : PK_CELL_NULL, .s = v[i].side},
            [RUN] = {.type = PK_CELL_INT, .i = v[i].run_id}};
        memcpy(row + FIRST, v[i].cells, COLUMNS * sizeof *row);
        pk_out_row(out, row);
    }
    if (partly)
        pk_out_note(out, pk_printf(a, "Of the first %d cases of a run.", PK_STATES_CASES));
}
