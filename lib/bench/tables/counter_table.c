/* Counted: a table whose columns are what was counted. */
#include "bench/tables/tables.h"

#include "base/text/buf.h"
#include "store/table.h"
#include "json/json.h"

#include <math.h>
#include <string.h>

enum { VARIANT, AXES, CASE, REGION, FIXED }; /* the first columns */

/* How values of a unit are shown. */
static const struct shown {
    const char *unit, *suffix;
    double scale;
    int decimals; /* -1: as its values want */
} units[] = {
    {"ns", " (ms)", 1e6, 3},
    {"bytes", " (MB)", 1e6, 3},
    {"bytes/s", " (GB/s)", 1e9, 1},
    {"flops", " (GFLOP)", 1e9, 3},
    {"flops/s", " (GFLOP/s)", 1e9, 1},
    {"Hz", " (GHz)", 1e9, 2},
    {"J", " (J)", 0, 3},
    {"W", " (W)", 0, 1},
    {"%", " (%)", 0, 1},
    {"1", "", 0, -1},
};

static struct shown shown_as(const char *unit, struct pk_arena *a)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(units[i].unit, unit))
            return units[i];
    return (struct shown){unit, pk_printf(a, " (%s)", unit), 0, -1};
}

/* "task_clock_ns" in ms is "task_clock (ms)". */
static const char *heading(const char *name, const struct shown *u, struct pk_arena *a)
{
    const size_t n = strlen(name), unit = strlen(u->unit);
    const bool ends = n > unit + 1 && name[n - unit - 1] == '_' && !strcmp(name + n - unit, u->unit);
    return pk_printf(a, "%.*s%s", (int)(ends ? n - unit - 1 : n), name, u->suffix);
}

enum { NAME, UNIT, GROUP, KEY, LARGEST, BROKEN }; /* of names_sql */

/* Four digits of the largest; none behind the point where every value is whole. */
static int decimals_of(const struct pk_cell *name)
{
    const double largest = name[LARGEST].type == PK_CELL_REAL ? name[LARGEST].f : 0;
    if (!name[BROKEN].i || largest >= 1000)
        return 0;
    return (int)fmin(3 - floor(log10(fmax(largest, 1e-3))), 6);
}

static struct pk_column column_of(const struct pk_cell *name, struct pk_arena *a)
{
    if (!strcmp(name[NAME].s, "perturbation"))
        return (struct pk_column){
            .key = "perturbation", .heading = "Slower by (%)", .scale = 0.01, .decimals = 1};
    const struct shown u = shown_as(name[UNIT].s, a);
    const char *key = name[KEY].s;
    return (struct pk_column){.key = key,
                              .heading = heading(key, &u, a),
                              .scale = u.scale,
                              .decimals = u.decimals < 0 ? decimals_of(name) : u.decimals};
}

static const struct pk_column fixed[FIXED] = {
    [VARIANT] = {.key = "variant", .heading = "Variant", .left = true},
    [AXES] = {.key = "axes", .left = true, .json = true, .machine = true},
    [CASE] = {.key = "case", .heading = "Case", .left = true},
    [REGION] = {.key = "region", .heading = "Region", .left = true},
};

/* Names in the order of the columns: metrics, events, how much counting cost. Where groups have metrics of one name, theirs are told
 * apart: "cpu-mem.intensity". */
static const char names_sql[] =
    "SELECT name, unit, group_name, CASE WHEN count(*) OVER (PARTITION BY name) > 1 AND group_name <> '' "
    "THEN "
    "group_name || '.' || name ELSE name END, largest, broken"
    " FROM (SELECT name, unit, group_name, min(source) AS source, max(abs(value)) AS largest,"
    "       max(value <> round(value)) AS broken FROM v_counter"
    "       WHERE run_id = :run AND experiment = :experiment AND value IS NOT NULL AND group_name <> "
    "'roofline' GROUP BY name, unit, group_name)"
    " ORDER BY name = 'perturbation', group_name = '', group_name, source, name";

/* One row per value; regions in the order of their names, the whole iteration last. A case is told by the axes in which not all agree. */
static const char values_sql[] =
    "WITH axis AS (SELECT e.key FROM (SELECT DISTINCT axes FROM v_counter WHERE run_id = :run AND experiment "
    "= :experiment) d,"
    "   json_each(d.axes) e GROUP BY e.key HAVING count(DISTINCT e.value) > 1),"
    " cases AS (SELECT DISTINCT case_id, variant, axes, ordinal,"
    "   coalesce((SELECT group_concat(e.key || '=' || e.value, ' ') FROM json_each(axes) e WHERE e.key IN "
    "(SELECT key FROM axis)),"
    "     '') AS told FROM v_counter WHERE run_id = :run AND experiment = :experiment)"
    " SELECT c.variant, c.axes, c.told, k.region, k.name, k.group_name, k.value FROM v_counter k JOIN cases "
    "c ON c.case_id "
    "= k.case_id"
    " WHERE k.run_id = :run AND k.group_name <> 'roofline' ORDER BY c.ordinal, k.region = 'iteration', "
    "k.region";

/* What is to be said under the table. */
static const char notes_sql[] =
    "WITH counted AS (SELECT * FROM v_counter WHERE run_id = :run AND experiment = :experiment AND "
    "                 group_name <> 'roofline'),"
    " noted AS (SELECT DISTINCT name, note, quality, value IS NOT NULL AS known FROM counted WHERE name <> "
    "           'perturbation')"
    " SELECT 'Medians per iteration, from passes of their own; times are those of the timing passes.' AS "
    "note, 0 AS at WHERE EXISTS (SELECT 1 FROM counted)"
    " UNION ALL SELECT group_concat(name, ', ') || CASE count(*) WHEN 1 THEN ' is' ELSE ' are' END || ' not "
    "known: ' || note, 1"
    "  FROM noted WHERE NOT known AND name NOT IN (SELECT name FROM noted WHERE known) GROUP BY note"
    " UNION ALL SELECT group_concat(name, ', ') || CASE count(*) WHEN 1 THEN ' is' ELSE ' are' END || ' "
    "approximate' || CASE note WHEN '' THEN '' ELSE ': ' || note END, 2"
    "  FROM noted WHERE quality = 'approximate' AND known GROUP BY note"
    " UNION ALL SELECT group_concat(name, ', ') || ': ' || note, 2"
    "  FROM noted WHERE quality = 'exact' AND known AND note <> '' GROUP BY note"
    " UNION ALL SELECT 'Counted in user mode only (kernel mode is not permitted): ' || group_concat(name, ', "
    "'), 3 FROM (SELECT DISTINCT name FROM counted WHERE modes = 'user') HAVING count(*)"
    " UNION ALL SELECT printf('Counting by ' || native || ' slowed ' || region || ' down by up to %.0f %%, "
    "more than processes differ by: its counts hold, but what they say of a rate may not.', 100 * "
    "max(value)), 4"
    "  FROM counted WHERE name = 'perturbation' AND note = '' GROUP BY region HAVING max(value) > 0.02"
    " UNION ALL SELECT printf('cpus_used of %s is above the %d CPUs that there are: counting begins before "
    "the clock of a region and ends after it, and threads that wait for work are busy meanwhile. It is right "
    "of regions that are much longer than that.', replace(group_concat(DISTINCT region), ',', ', '), "
    "threads), 4"
    "  FROM counted, (SELECT machine ->> 'threads' AS threads FROM v_run WHERE run_id = :run)"
    "  WHERE name = 'cpus_used' AND value > threads HAVING count(*)"
    " UNION ALL SELECT 'Not counted here: ' || value, 5 FROM v_setting WHERE run_id = :run AND invocation = "
    "0 AND key = 'not_counted'"
    " UNION ALL SELECT 'Not counted: ' || substr(key, 13) || ', ' || value || '.', 5 FROM v_setting"
    "  WHERE run_id = :run AND invocation = 0 AND key GLOB 'not_counted.*'"
    " UNION ALL SELECT 'Some cases were not counted: ' || value || '.', 6 FROM v_setting WHERE run_id = :run "
    "AND invocation = 0 AND key = "
    "'uncounted'"
    " UNION ALL SELECT 'Some cases were not counted: the budget had no room for it.', 6 WHERE EXISTS (SELECT "
    "1 FROM "
    "v_slice WHERE run_id = :run AND pass = 'counter' AND notes ->> 'left_out' = 'budget')"
    " ORDER BY at, note";

struct table {
    struct pk_store *s;
    struct pk_param params[2];
    struct pk_arena a;
    struct pk_rows names;
};

static size_t find_name(const struct table *t, const char *name, const char *group)
{
    for (size_t i = 0; i < t->names.n; i++) {
        const struct pk_cell *row = t->names.cells + i * t->names.n_cols;
        if (!strcmp(row[NAME].s, name) && !strcmp(row[GROUP].s, group))
            return i;
    }
    return t->names.n;
}

static bool same_row(const struct pk_cell *x, const struct pk_cell *y)
{
    for (size_t i = 0; i < FIXED; i++)
        if (strcmp(x[i].s, y[i].s))
            return false;
    return true;
}

static enum pk_code print_rows(struct table *t, struct pk_out *out, struct pk_err *err)
{
    enum { OF = FIXED, OF_GROUP, VALUE, COLUMNS };
    struct pk_rows v;
    if (pk_store_query(t->s, values_sql, t->params, 2, &t->a, &v, err))
        return err->code;
    struct pk_cell *row = pk_new_n(&t->a, struct pk_cell, FIXED + t->names.n);
    for (size_t i = 0, end; i < v.n; i = end) {
        const struct pk_cell *first = v.cells + i * COLUMNS;
        memset(row, 0, (FIXED + t->names.n) * sizeof *row);
        memcpy(row, first, FIXED * sizeof *row);
        for (end = i; end < v.n && same_row(v.cells + end * COLUMNS, first); end++) {
            const struct pk_cell *cells = v.cells + end * COLUMNS;
            const size_t at = find_name(t, cells[OF].s, cells[OF_GROUP].s);
            if (at < t->names.n && cells[VALUE].type != PK_CELL_NULL)
                row[FIXED + at] = cells[VALUE];
        }
        pk_out_row(out, row);
    }
    return PK_OK;
}

enum pk_code pk_counter_table(struct pk_store *s, int64_t run_id, const char *experiment, struct pk_out *out,
                              struct pk_err *err)
{
    struct table t = {
        .s = s,
        .params = {pk_param_int(":run", run_id), pk_param_text(":experiment", experiment)},
    };
    struct pk_rows notes;
    enum pk_code rc = pk_store_query(s, names_sql, t.params, 2, &t.a, &t.names, err);
    if (!rc)
        rc = pk_store_query(s, notes_sql, t.params, 2, &t.a, &notes, err);
    if (!rc && (t.names.n || notes.n)) {
        struct pk_column *columns = pk_new_n(&t.a, struct pk_column, FIXED + t.names.n);
        memcpy(columns, fixed, sizeof fixed);
        for (size_t i = 0; i < t.names.n; i++) {
            columns[FIXED + i] = column_of(t.names.cells + i * t.names.n_cols, &t.a);
            columns[FIXED + i].optional =
                (int)(t.names.n - i); /* where there is no room, the last go first */
        }
        pk_out_table(out, "counted", "Counters", columns, FIXED + t.names.n);
        rc = print_rows(&t, out, err);
        for (size_t i = 0; !rc && i < notes.n; i++)
            pk_out_note(out, notes.cells[i * notes.n_cols].s);
    }
    pk_arena_free(&t.a);
    return rc;
}
