/* Counters: makes the counter inputs of a case from samples of counter passes and times. */
#include "bench/command/command.h"

#include "bench/command/counter_passes.h"
#include "bench/record/counters.h"
#include "store/table/table.h"

#include <string.h>

enum { CASE, IN_ROUND, EVENT, SCALED_FROM, WHY, VALUE, RAN };

static enum pk_code add_times(struct pk_store *s, int64_t run_id, int64_t case_id, struct pk_arena *a,
                              struct pk_counter_inputs *inputs, struct pk_err *err)
{
    const struct pk_param params[] = {pk_param_int(":run", run_id), pk_param_int(":case", case_id)};
    struct pk_rows times;
    if (pk_query(s, "command_time", PK_PARAMS(params), a, &times, err))
        return err->code;
    if (times.n) {
        inputs->at[0].time_ns = pk_cell_number(&times.cells[0]);
        inputs->at[0].fastest_ns = pk_cell_number(&times.cells[1]);
        inputs->at[0].slowest_ns = pk_cell_number(&times.cells[2]);
        inputs->at[0].processes = times.cells[3].i;
    }
    return PK_OK;
}

/* A round's event belongs to every plan of the round that has it. */
static void add_event(const struct pk_cell *row, const struct pk_counters *counters,
                      struct pk_counter_inputs *inputs)
{
    for (size_t p = 0; p < counters->n_plans; p++) {
        if ((int64_t)pk_counter_pass_of_plan(counters, p) != row[IN_ROUND].i)
            continue;
        inputs->at[0].pass_ns[p] = pk_cell_number(&row[RAN]);
        for (size_t e = 0; e < counters->plans[p].n; e++) {
            if (strcmp(counters->plans[p].events[e].name, row[EVENT].s) != 0)
                continue;
            inputs->at[0].count[p][e] = pk_cell_number(&row[VALUE]);
            if (row[SCALED_FROM].type == PK_CELL_REAL)
                inputs->quality[p][e].scaled_from = row[SCALED_FROM].f;
            if (row[WHY].type == PK_CELL_TEXT)
                inputs->quality[p][e].why = row[WHY].s;
        }
    }
}

/* Rows of a case stand together. */
enum pk_code pk_command_counters(struct pk_store *s, int64_t run_id, const struct pk_counters *counters,
                                 struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows r;
    if (pk_query(s, "command_events", &run, 1, &a, &r, err))
        return err->code;
    for (size_t i = 0; i < r.n;) {
        const int64_t case_id = r.cells[i * r.n_cols + CASE].i;
        struct pk_counter_inputs inputs = pk_counter_inputs_empty(counters, 1, &a);
        if (add_times(s, run_id, case_id, &a, &inputs, err))
            return err->code;
        for (; i < r.n && r.cells[i * r.n_cols + CASE].i == case_id; i++)
            add_event(r.cells + i * r.n_cols, counters, &inputs);
        if (pk_record_command_counters(s, case_id, counters, &inputs, &a, err))
            return err->code;
    }
    return PK_OK;
}
