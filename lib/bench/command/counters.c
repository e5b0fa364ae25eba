/* Counters: samples of a counter pass to rows of v_counter. */
#include "bench/command/counters.h"

#include "counter/group.h"
#include "counter/perf/command_events.h"
#include "store/table.h"

#include <math.h>
#include <string.h>

/* Whether the slice's note lists the event: "cycles, branches". */
#define NOTED(key)                                                                                           \
    "instr(', ' || ifnull(json_extract(l.notes, '$." key "'), '') || ',', ', ' || s.metric || ',') > 0"

static const char sql[] = "SELECT s.case_id, s.metric, s.unit, s.value, " NOTED("user_only") ", " NOTED(
    "scaled") " FROM v_sample s JOIN v_slice l ON l.case_id = s.case_id AND l.invocation = s.invocation AND "
              "l.pass = s.pass"
              " WHERE s.run_id = :run AND s.pass = 'counter' AND s.value IS NOT NULL ORDER BY s.case_id";
enum { CASE, METRIC, UNIT, VALUE, USER_ONLY, SCALED };

struct counting {
    struct pk_arena *a;
    const struct pk_group *groups;
    size_t n_groups;
    struct pk_counter_row *rows;
    size_t n, cap, first; /* first: of the case */
};

static void add(struct counting *c, const struct pk_counter_row *row)
{
    c->rows = pk_grow(c->a, c->rows, sizeof *c->rows, c->n, &c->cap);
    c->rows[c->n++] = *row;
}

static const char *source_of(const char *event)
{
    size_t i = 0;
    while (i < PK_CPU_EVENTS && strcmp(pk_cpu_events[i].name, event) != 0)
        i++;
    return i < PK_KERNEL_EVENTS ? "sw-events" : "cpu-events";
}

static void add_event(struct counting *c, const struct pk_cell *cell)
{
    const bool scaled = cell[SCALED].i;
    add(c, &(struct pk_counter_row){
               .case_id = cell[CASE].i,
               .region = "iteration",
               .group = "",
               .name = cell[METRIC].s,
               .unit = cell[UNIT].s,
               .value = cell[VALUE].type == PK_CELL_INT ? (double)cell[VALUE].i : cell[VALUE].f,
               .source = source_of(cell[METRIC].s),
               .native = "",
               .quality = scaled ? "approximate" : "exact",
               .modes = cell[USER_ONLY].i ? "user" : "user+kernel",
               .note = scaled ? "scaled to the whole time, since events took turns" : ""});
}

/* Of the case; NaN when it was not counted. */
static double value_of(const struct counting *c, size_t end, const char *event)
{
    for (size_t i = c->first; i < end; i++)
        if (!strcmp(c->rows[i].name, event))
            return c->rows[i].value;
    return NAN;
}

static void add_metric(struct counting *c, size_t end, const struct pk_group *g,
                       const struct pk_group_metric *m)
{
    double *values = pk_new_n(c->a, double, m->formula->n_names + 1);
    const char *missing;
    for (size_t i = 0; i < m->formula->n_names; i++)
        values[i] = value_of(c, end, m->formula->names[i]);
    const double v = pk_formula_value(m->formula, values, c->a, &missing);
    if (!isnan(v))
        add(c, &(struct pk_counter_row){.case_id = c->rows[c->first].case_id,
                                        .region = "iteration",
                                        .group = g->name,
                                        .name = m->name,
                                        .unit = m->unit,
                                        .value = v,
                                        .source = "formula",
                                        .native = m->formula->text,
                                        .quality = "derived",
                                        .modes = "",
                                        .note = ""});
}

static void end_case(struct counting *c)
{
    const size_t end = c->n;
    for (size_t i = 0; i < c->n_groups && c->first < end; i++)
        for (size_t k = 0; k < c->groups[i].n_metrics; k++)
            add_metric(c, end, &c->groups[i], &c->groups[i].metrics[k]);
    c->first = c->n;
}

enum pk_code pk_command_counters(struct pk_store *s, int64_t run_id, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_param run = pk_param_int(":run", run_id);
    struct counting c = {.a = &a};
    struct pk_rows r;
    if (pk_store_query(s, sql, &run, 1, &a, &r, err))
        return err->code;
    c.n_groups = pk_groups(&a, &c.groups);
    for (size_t i = 0; i < r.n; i++) {
        const struct pk_cell *cell = r.cells + i * r.n_cols;
        if (c.first < c.n && c.rows[c.first].case_id != cell[CASE].i)
            end_case(&c);
        add_event(&c, cell);
    }
    end_case(&c);
    return c.n ? pk_store_counters(s, c.rows, c.n, err) : PK_OK;
}
