/* States: a run's states added up, and their table. */
#include "bench/tables/tables.h"

#include "base/text/buf.h"
#include "store/table/table.h"

#include <string.h>

static const struct pk_column columns[] = {
    {.key = "side", .heading = "Side", .left = true},
    {.key = "run_id", .heading = "Run", .decimals = -1},
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
    {.key = "gpu_held_back", .heading = "GPU clocks reduced", .left = true},
    {.key = "gpu_other_processes", .heading = "Others on GPU", .decimals = -1},
    {.key = "doubts", .heading = "Doubtful cases", .left = true},
};
enum pk_code pk_run_state_read(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                               struct pk_run_state *out, struct pk_err *err)
{
    const struct pk_param run[] = {pk_param_int(":run", run_id), pk_param_int(":most", PK_STATES_CASES)};
    struct pk_rows cases;
    *out = (struct pk_run_state){.run_id = run_id};
    if (pk_query(s, "state_cases", run, 2, a, &cases, err))
        return err->code;
    const struct pk_param params[] = {run[0], {":first", cases.cells[0]}, {":last", cases.cells[1]}};
    if (pk_query(s, "state", params, 3, a, &out->state, err))
        return err->code;
    out->partly = cases.cells[2].i;
    if (!pk_rows_cell(&out->state, 0, "slices")->i &&
        pk_rows_cell(&out->state, 0, "doubts")->type == PK_CELL_NULL)
        out->state.n = 0;
    return PK_OK;
}

/* True when some row has a text, or a number that is no total that stayed 0. */
static bool is_filled(const struct pk_run_state *v, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        const struct pk_cell *c = v[i].state.n ? pk_rows_cell(&v[i].state, 0, key) : NULL;
        if (c && (c->type == PK_CELL_TEXT || (c->type == PK_CELL_INT && c->i) || pk_cell_number(c) > 0))
            return true;
    }
    return false;
}

void pk_run_states_print(struct pk_out *out, const struct pk_run_state *v, size_t n, struct pk_arena *a)
{
    enum { OWN = 2, COLUMNS = sizeof columns / sizeof *columns }; /* the others are of query state */
    const bool alone = !v[0].side;
    bool any = false, partly = false;
    struct pk_column *cols = pk_columns_copy(a, columns, COLUMNS);
    for (size_t c = 0; c < OWN; c++)
        cols[c].machine = alone;
    pk_column_of(cols, COLUMNS, "doubts")->machine = alone; /* they are notes of the tables before */
    for (size_t c = OWN; c < COLUMNS; c++) {
        cols[c].machine |= !is_filled(v, n, cols[c].key);
        any |= !cols[c].machine;
    }
    if (!any)
        return;
    pk_out_table(out, "states", "State of the machine during timing", cols, COLUMNS);
    for (size_t i = 0; i < n; i++) {
        partly |= v[i].state.n && v[i].partly;
        if (v[i].state.n) {
            struct pk_row *row = pk_row_begin(out);
            pk_put_text(row, "side", v[i].side);
            pk_put_int(row, "run_id", v[i].run_id);
            for (size_t c = 0; c < v[i].state.n_cols; c++)
                pk_put(row, v[i].state.names[c], v[i].state.cells[c]);
            pk_row_end(row);
        }
    }
    if (partly)
        pk_out_note(out, pk_printf(a, "Computed from the first %d cases of a run.", PK_STATES_CASES));
}

void pk_run_states_noise(struct pk_out *out, const struct pk_run_state *v, size_t n, struct pk_arena *a)
{
    enum { MOST_NAMED = 4 };
    struct pk_buf b = {.arena = a};
    size_t noisy = 0;
    for (size_t i = 0; i < n && pk_out_on_screen(out); i++) {
        const char *doubts = v[i].state.n ? pk_cell_string(pk_rows_cell(&v[i].state, 0, "doubts")) : "";
        if (*doubts && ++noisy)
            pk_buf_printf(&b, "%srun %lld (%s)", b.n ? ", " : "", (long long)v[i].run_id, doubts);
    }
    if (noisy > MOST_NAMED && pk_out_is_shortened(out))
        pk_out_note(out, pk_printf(a, "noisy: cases of %zu of %zu runs were disturbed; do not quote these",
                                   noisy, n));
    else if (noisy)
        pk_out_note(out,
                    pk_printf(a, "noisy: cases of %s were disturbed; do not quote these", pk_buf_text(&b)));
}
