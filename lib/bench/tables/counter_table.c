/* Counter table: a table with a column for each counter. */
#include "bench/tables/tables.h"

#include "store/table/table.h"
#include "json/json.h"

#include <math.h>
#include <string.h>

/* How values of a unit are shown. */
static const struct counter_unit {
    const char *unit, *suffix;
    double scale;
    int decimals; /* -1: as its values want */
} units[] = {
    {.unit = "ns", .suffix = " (ms)", .scale = 1e6, .decimals = 3},
    {.unit = "bytes", .suffix = " (MB)", .scale = 1e6, .decimals = 3},
    {.unit = "bytes/s", .suffix = " (GB/s)", .scale = 1e9, .decimals = 1},
    {.unit = "flops", .suffix = " (GFLOP)", .scale = 1e9, .decimals = 3},
    {.unit = "flops/s", .suffix = " (GFLOP/s)", .scale = 1e9, .decimals = 1},
    {.unit = "Hz", .suffix = " (GHz)", .scale = 1e9, .decimals = 2},
    {.unit = "J", .suffix = " (J)", .scale = 0, .decimals = 3},
    {.unit = "W", .suffix = " (W)", .scale = 0, .decimals = 1},
    {.unit = "%", .suffix = " (%)", .scale = 0, .decimals = 1},
    {.unit = "1", .suffix = "", .scale = 0, .decimals = -1},
};

static struct counter_unit shown_as(const char *unit, struct pk_arena *a)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(units[i].unit, unit))
            return units[i];
    return (struct counter_unit){.unit = unit, .suffix = pk_printf(a, " (%s)", unit), .decimals = -1};
}

enum { NAME, UNIT, GROUP, KEY, LARGEST, BROKEN }; /* of query counter_names */

/* Decimals for four digits of the largest value; 0 when all values are integers. */
static int decimals_of(const struct pk_cell *name)
{
    const double largest = pk_cell_number(&name[LARGEST]);
    if (!name[BROKEN].i || largest >= 1000)
        return 0;
    return (int)fmin(3 - floor(log10(fmax(largest, 1e-3))), 6);
}

static struct pk_column column_of(const struct pk_cell *name, struct pk_arena *a)
{
    if (!strcmp(name[NAME].s, "perturbation"))
        return (struct pk_column){
            .key = "perturbation", .heading = "Slower by (%)", .scale = 0.01, .decimals = 1};
    const struct counter_unit u = shown_as(name[UNIT].s, a);
    const char *key = name[KEY].s;
    /* "task_clock_ns" in ms is "task_clock (ms)". */
    const size_t n = strlen(key), unit = strlen(u.unit);
    const bool ends = n > unit + 1 && key[n - unit - 1] == '_' && !strcmp(key + n - unit, u.unit);
    return (struct pk_column){.key = key,
                              .heading =
                                  pk_printf(a, "%.*s%s", (int)(ends ? n - unit - 1 : n), key, u.suffix),
                              .scale = u.scale,
                              .decimals = u.decimals < 0 ? decimals_of(name) : u.decimals};
}

static const struct pk_column fixed[] = {
    {.key = "variant", .heading = "Variant", .left = true},
    {.key = "axes", .left = true, .json = true, .machine = true},
    {.key = "case", .heading = "Case", .left = true},
    {.key = "region", .heading = "Region", .left = true},
};
enum { FIXED = sizeof fixed / sizeof *fixed }; /* the first columns of query counter_values, too */

struct counter_columns {
    struct pk_store *s;
    struct pk_param params[2];
    struct pk_arena a;
    struct pk_rows names;
};

static bool same_row(const struct pk_cell *x, const struct pk_cell *y)
{
    for (size_t i = 0; i < FIXED; i++)
        if (strcmp(x[i].s, y[i].s))
            return false;
    return true;
}

static enum pk_code print_rows(struct counter_columns *t, struct pk_out *out, struct pk_err *err)
{
    enum { OF = FIXED, OF_GROUP, VALUE, COLUMNS };
    struct pk_rows v;
    if (pk_query(t->s, "counter_values", t->params, 2, &t->a, &v, err))
        return err->code;
    struct pk_cell *row = pk_new_n(&t->a, struct pk_cell, FIXED + t->names.n + 1);
    for (size_t i = 0, end; i < v.n; i = end) {
        const struct pk_cell *first = v.cells + i * COLUMNS;
        memset(row, 0, (FIXED + t->names.n) * sizeof *row);
        memcpy(row, first, FIXED * sizeof *row);
        for (end = i; end < v.n && same_row(v.cells + end * COLUMNS, first); end++) {
            const struct pk_cell *cells = v.cells + end * COLUMNS;
            const struct pk_cell *name = t->names.cells;
            size_t column = 0; /* behind the last one for what has no column */
            for (; column < t->names.n; column++, name += t->names.n_cols)
                if (!strcmp(name[NAME].s, cells[OF].s) && !strcmp(name[GROUP].s, cells[OF_GROUP].s))
                    break;
            row[FIXED + column] = cells[VALUE];
        }
        pk_out_row(out, row);
    }
    return PK_OK;
}

enum pk_code pk_counter_table(struct pk_store *s, int64_t run_id, const char *experiment, struct pk_out *out,
                              struct pk_err *err)
{
    struct counter_columns t = {
        .s = s,
        .params = {pk_param_int(":run", run_id), pk_param_text(":experiment", experiment)},
    };
    struct pk_rows notes;
    enum pk_code rc = pk_query(s, "counter_names", t.params, 2, &t.a, &t.names, err);
    if (!rc)
        rc = pk_query(s, "counter_notes", t.params, 2, &t.a, &notes, err);
    if (!rc && (t.names.n || notes.n)) {
        struct pk_column *columns = pk_new_n(&t.a, struct pk_column, FIXED + t.names.n);
        memcpy(columns, fixed, sizeof fixed);
        for (size_t i = 0; i < t.names.n; i++) {
            columns[FIXED + i] = column_of(t.names.cells + i * t.names.n_cols, &t.a);
            /* where there is no room, the last go first */
            columns[FIXED + i].optional = (int)(t.names.n - i);
        }
        pk_out_table(out, "counted", "Counters", columns, FIXED + t.names.n);
        rc = print_rows(&t, out, err);
        for (size_t i = 0; !rc && i < notes.n; i++)
            pk_out_note(out, notes.cells[i * notes.n_cols].s);
    }
    pk_arena_free(&t.a);
    return rc;
}
