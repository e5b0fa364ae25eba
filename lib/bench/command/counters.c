/* Counters: samples of counter passes, and the times beside them, as what is known of a case. */
#include "bench/command/command.h"

#include "bench/command/counter_passes.h"
#include "bench/record/counters.h"
#include "store/table.h"

#include <math.h>
#include <string.h>

/* The first counter pass is round 0. */
#define FIRST "(SELECT min(f.invocation) FROM v_slice f WHERE f.case_id = l.case_id AND f.pass = 'counter')"

static const char passes_sql[] =
    "SELECT l.case_id, l.invocation - " FIRST ", e.key, e.value ->> 'scaled_from', e.value ->> 'why',"
    " (SELECT s.value FROM v_sample s WHERE s.case_id = l.case_id AND s.invocation = l.invocation"
    "   AND s.pass = 'counter' AND s.metric = e.key), l.notes ->> '$.counters.ran_ns'"
    " FROM v_slice l, json_each(l.notes, '$.counters.events') e"
    " WHERE l.run_id = :run AND l.pass = 'counter' ORDER BY 1, 2";

static const char times_sql[] = "SELECT s.median, s.min, s.max, s.invocations FROM v_summary s"
                                " WHERE s.run_id = :run AND s.case_id = :case AND s.metric = 'wall_ns'";

static double real_of(const struct pk_cell *c)
{
    return c->type == PK_CELL_INT ? (double)c->i : c->type == PK_CELL_REAL ? c->f : NAN;
}

/* A round's event belongs to every plan of the round that has it. */
static void take_event(const struct pk_counters *counters, struct pk_counter_inputs *k,
                       const struct pk_cell *row)
{
    enum { CASE, IN_ROUND, EVENT, SCALED_FROM, WHY, VALUE, RAN };
    for (size_t p = 0; p < counters->n_plans; p++) {
        if ((int64_t)pk_counted_round(counters, p) != row[IN_ROUND].i)
            continue;
        k->at[0].pass_ns[p] = real_of(&row[RAN]);
        for (size_t e = 0; e < counters->plans[p].n; e++) {
            if (strcmp(counters->plans[p].events[e].name, row[EVENT].s) != 0)
                continue;
            k->at[0].count[p][e] = real_of(&row[VALUE]);
            if (row[SCALED_FROM].type == PK_CELL_REAL)
                k->quality[p][e].scaled_from = row[SCALED_FROM].f;
            if (row[WHY].type == PK_CELL_TEXT)
                k->quality[p][e].why = row[WHY].s;
        }
    }
}

enum pk_code pk_command_counters(struct pk_store *s, int64_t run_id, const struct pk_counters *counters,
                                 struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_param params[] = {pk_param_int(":run", run_id), {0}};
    struct pk_rows r, times;
    if (pk_store_query(s, passes_sql, params, 1, &a, &r, err))
        return err->code;
    if (!r.n)
        return PK_OK;
    const int64_t case_id = r.cells[0].i; /* only its own is counted */
    params[1] = pk_param_int(":case", case_id);
    if (pk_store_query(s, times_sql, params, 2, &a, &times, err))
        return err->code;
    struct pk_counter_inputs known = pk_counter_inputs_nothing(counters, 1, &a);
    if (times.n) {
        known.at[0].time_ns = real_of(&times.cells[0]);
        known.at[0].fastest_ns = real_of(&times.cells[1]);
        known.at[0].slowest_ns = real_of(&times.cells[2]);
        known.at[0].processes = times.cells[3].i;
    }
    for (size_t i = 0; i < r.n; i++)
        take_event(counters, &known, r.cells + i * r.n_cols);
    return pk_record_known(s, case_id, counters, &known, &a, err);
}
