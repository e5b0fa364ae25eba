/* Data: what a program reads from a page. */
#include "report/parts.h"

#include "store/table/table.h"

/* Rows of a query as {"columns": [...], "rows": [[...], ...]}. */
static json_t *rows_of(const struct pk_rows *r)
{
    json_t *columns = json_array(), *rows = json_array();
    for (size_t i = 0; i < r->n_cols; i++)
        json_array_append_new(columns, json_string(r->names[i]));
    for (size_t row = 0; row < r->n; row++) {
        json_t *list = json_array();
        for (size_t i = 0; i < r->n_cols; i++) {
            const struct pk_cell *c = &r->cells[row * r->n_cols + i];
            json_t *text = c->type == PK_CELL_TEXT ? json_string(c->s) : NULL; /* NULL: it is no UTF-8 */
            json_array_append_new(list, c->type == PK_CELL_INT ? json_integer(c->i)
                                        : text                 ? text
                                                               : pk_json_real(pk_cell_number(c)));
        }
        json_array_append_new(rows, list);
    }
    return json_pack("{s:o, s:o}", "columns", columns, "rows", rows);
}

enum { MOST = 5000 }; /* cases, and figures: about 500 kB */

enum pk_code pk_page_query(const struct pk_page_run *run, const char *name, struct pk_arena *a,
                           struct pk_rows *rows, struct pk_err *err)
{
    const struct pk_param params[] = {pk_param_int(":run", run->run_id), pk_param_int(":most", MOST),
                                      pk_param_int(":kept", 1)};
    return pk_query(run->store, name, PK_PARAMS(params), a, rows, err);
}

enum pk_code pk_page_data(struct pk_page *p, const struct pk_page_run *run, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows cases, summary, command;
    if (pk_page_query(run, "report_cases", &a, &cases, err) ||
        pk_page_query(run, "report_summary", &a, &summary, err) ||
        pk_page_query(run, "report_command", &a, &command, err))
        return err->code;
    json_t *j = json_pack("{s:s, s:I, s:o, s:o, s:o, s:b}", "name", run->name, "run_id",
                          (json_int_t)run->run_id, "run", rows_of(&command), "cases", rows_of(&cases),
                          "summary", rows_of(&summary), "whole", cases.n < MOST && summary.n < MOST);
    json_array_append_new(p->runs, j ? j : json_null());
    return PK_OK;
}
