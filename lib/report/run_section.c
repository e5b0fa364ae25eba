/* Run section: all that a page says of one run. */
#include "report/parts.h"

#include "base/file.h"
#include "bench/own/descriptor_setting.h"
#include "bench/tables/tables.h"
#include "judge/report/ranking.h"
#include "report/html.h"
#include "store/table/table.h"

#include <errno.h>
#include <string.h>

/* A list of the texts in the first column of a query, in an element of a class. */
static enum pk_code put_list(struct pk_page *p, const struct pk_page_run *run, const char *query,
                             const char *class, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows r;
    if (pk_page_query(run, query, &a, &r, err))
        return err->code;
    if (r.n)
        pk_html(p->f, "<ul class=\"%\">\n", class);
    for (size_t i = 0; i < r.n; i++)
        pk_html(p->f, "<li>%</li>\n", pk_cell_string(&r.cells[i * r.n_cols]));
    if (r.n)
        pk_html(p->f, "</ul>\n");
    return PK_OK;
}

/* What stands between findings and tables, ahead of them: while a table is printed, no views are made for a chart. */
static enum pk_code write_between(struct pk_page *p, const struct pk_page_run *run, FILE *between,
                                  struct pk_err *err)
{
    FILE *page = p->f;
    p->f = between;
    enum pk_code code = put_list(p, run, "doubt_lines", "doubts", err);
    if (!code)
        code = pk_page_charts(p, run, err);
    pk_html(p->f, "<h3>Tables</h3>\n");
    p->f = page;
    rewind(between);
    return code;
}

/* The name of the first choice for the headline table of a text; "" = it has none. */
static const char *headline_of(const char *text, struct pk_arena *a)
{
    struct pk_section *v;
    struct pk_err ignored;
    size_t n;
    const char *name = "";
    if (pk_sections(text, a, &v, &n, &ignored))
        return name;
    for (size_t i = 0; i < n; i++)
        if (v[i].kind == PK_SECTION_TABLE && v[i].headline == 1)
            name = v[i].name;
    return name;
}

static enum pk_code put_tables(struct pk_page *p, const struct pk_page_run *run, const struct pk_probe *probe,
                               struct pk_err *err)
{
    struct pk_err late;
    PK_CLEANUP_FILE FILE *between = tmpfile();
    struct pk_page_tables t = {.page = p, .between = between};
    if (!between) {
        pk_fail(err, PK_E_IO, "cannot make a temporary file");
        pk_why_errno(err, errno);
        return pk_fix(err, "free some space in /tmp");
    }
    if (write_between(p, run, between, err))
        return err->code;
    t.headline = probe ? headline_of(pk_probe_sql(probe), p->a) : NULL;
    struct pk_out *out = pk_page_out(&t);
    enum pk_code code = pk_run_all_tables(run->store, run->run_id, out, err);
    if (!code)
        code = pk_ranking_print(run->store, run->run_id, out, err);
    const enum pk_code closed = pk_out_close(out, code ? &late : err);
    pk_page_put_between(&t);
    return code ? code : closed;
}

static enum pk_code put_environment(struct pk_page *p, const struct pk_page_run *run, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows r;
    if (pk_page_query(run, "report_facts", &a, &r, err))
        return err->code;
    pk_html(p->f, "<h3>Environment</h3>\n");
    if (pk_page_topology(p, run, err))
        return err->code;
    pk_html(p->f, "<table class=\"facts\">\n");
    for (size_t i = 0; i < r.n; i++)
        pk_html(p->f, "<tr><th scope=\"row\">%</th><td>%</td></tr>\n", pk_cell_string(&r.cells[i * r.n_cols]),
                pk_cell_string(&r.cells[i * r.n_cols + 1]));
    pk_html(p->f, "</table>\n");
    return PK_OK;
}

static enum pk_code put_commands(struct pk_page *p, const struct pk_page_run *run, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows r;
    if (pk_page_query(run, "report_command", &a, &r, err))
        return err->code;
    const char *show = pk_run_show_command(run->store, run->run_id, "", &a);
    pk_html(p->f, "<h3>Commands</h3>\n<p>It was measured by</p>\n<pre>%</pre>\n",
            r.n ? pk_cell_string(&r.cells[0]) : "");
    if (show)
        pk_html(p->f, "<p>All tables in a terminal, and this page again:</p>\n<pre>% --tables all\n%</pre>\n",
                show, p->report->command);
    return PK_OK;
}

/* --- what a program reads from a page --- */

/* Rows of a query as {"columns": [...], "rows": [[...], ...]}. */
static json_t *rows_of(const struct pk_rows *r)
{
    json_t *columns = pk_json_texts(r->names, r->n_cols), *rows = json_array();
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

/* Adds the figures of a run to p->runs. */
static enum pk_code add_data(struct pk_page *p, const struct pk_page_run *run, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows cases, summary, command;
    if (pk_page_query(run, "report_cases", &a, &cases, err) ||
        pk_page_query(run, "report_summary", &a, &summary, err) ||
        pk_page_query(run, "report_command", &a, &command, err))
        return err->code;
    json_t *j =
        json_pack("{s:s, s:I, s:o, s:o, s:o, s:b}", "name", run->name, "run_id", (json_int_t)run->run_id,
                  "run", rows_of(&command), "cases", rows_of(&cases), "summary", rows_of(&summary), "whole",
                  cases.n < PK_PAGE_CASES && summary.n < PK_PAGE_CASES);
    json_array_append_new(p->runs, j ? j : json_null());
    return PK_OK;
}

static enum pk_code put_run(struct pk_page *p, const struct pk_page_run *run, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows experiments, title;
    if (pk_page_query(run, "experiments", &a, &experiments, err) ||
        pk_page_query(run, "run_title", &a, &title, err))
        return err->code;
    const char *name = experiments.n ? pk_cell_string(&experiments.cells[0]) : "a run without cases";
    pk_html(p->f, "<section id=\"run-%\">\n<h2>%</h2>\n<p class=\"soft\">%</p>\n", run->name, name,
            title.n ? pk_cell_string(&title.cells[0]) : "");
    if (put_tables(p, run, experiments.n ? pk_run_probe(run->store, run->run_id, name, p->a) : NULL, err) ||
        put_environment(p, run, err))
        return err->code;
    pk_html(p->f, "<h3>Methods</h3>\n");
    if (put_list(p, run, "report_methods", "methods", err) || put_commands(p, run, err))
        return err->code;
    pk_html(p->f, "</section>\n");
    return add_data(p, run, err);
}

enum pk_code pk_page_run_section(struct pk_page *p, const struct pk_page_run *run, struct pk_err *err)
{
    pk_store_narrow(run->store, run->run_id);
    const enum pk_code written = put_run(p, run, err);
    pk_store_widen(run->store);
    return written;
}
