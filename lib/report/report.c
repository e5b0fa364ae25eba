/* Report: the page around its runs. */
#include "report/report.h"

#include "base/build.h"
#include "out/output/output.h"
#include "plot/plot.h"
#include "report/html.h"
#include "report/parts.h"
#include "store/table/table.h"

#include <string.h>

extern const struct pk_embedded pk_page_assets[]; /* by lib/report/meson.build */

static const char *asset(const char *name)
{
    const struct pk_embedded *e = pk_page_assets;
    while (e->name && strcmp(e->name, name) != 0)
        e++;
    return e->name ? e->text : "";
}

static void put_head(struct pk_page *p, const char *title)
{
    pk_html(p->f,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"%\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"generator\" content=\"perfkit %\">\n<title>%</title>\n<style>",
            asset("page.csp"), pk_version, title);
    fputs(asset("page.css"), p->f);
    pk_html(p->f, "</style>\n</head>\n<body>\n<header>\n<h1>%</h1>\n", title);
    const struct pk_feature *charts = pk_feature("charts");
    p->pictures = charts->unavailable && pk_gnuplot_is_there();
    if (charts->unavailable)
        pk_html(p->f,
                "<p class=\"missing\">%: %. For interactive charts: <code>%</code>.% The "
                "rows of "
                "each chart are in the table below it.</p>\n",
                p->pictures ? "The charts of this page are pictures by gnuplot" : "This page has no charts",
                charts->unavailable, charts->enable,
                p->pictures ? "" : " With gnuplot installed, a page has pictures.");
    else
        pk_html(p->f, "<noscript><p class=\"missing\">Charts need JavaScript. The rows of each chart are in "
                      "the table in its place.</p></noscript>\n");
    pk_html(p->f, "</header>\n<main>\n");
}

static void put_script(FILE *f, const char *text)
{
    fputs("<script>", f);
    fputs(text, f);
    fputs("</script>\n", f);
}

static void put_end(struct pk_page *p)
{
    json_t *data = json_pack("{s:i, s:s, s:O}", "schema", 1, "perfkit", pk_version, "runs", p->runs);
    pk_html(p->f, "</main>\n");
    pk_html_json(p->f, "perfkit-data", data);
    json_decref(data);
    pk_html_json(p->f, "perfkit-charts", p->charts);
    if (*asset("report.js"))
        put_script(p->f, asset("report.js"));
    put_script(p->f, asset("page.js"));
    pk_html(p->f, "</body>\n</html>\n");
}

/* Whether a run of many stands in full: the first and the newest. */
static bool in_full(const struct pk_page_options *r, size_t i)
{
    return i == 0 || i + PK_PAGE_RUNS > r->n;
}

/* Of several runs: each as a row, and what is where. */
static enum pk_code put_runs(struct pk_page *p, struct pk_err *err)
{
    const struct pk_page_options *r = p->report;
    pk_html(p->f,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Runs\"><table "
            "data-name=\"runs\">\n"
            "<thead><tr><th scope=\"col\" class=\"l\">Run<th scope=\"col\" class=\"l\">Experiment<th "
            "scope=\"col\" "
            "class=\"l\">Label<th scope=\"col\" class=\"l\">Started (UTC)<th scope=\"col\" class=\"l\">Status"
            "<th scope=\"col\">Cases</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < r->n; i++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        struct pk_rows row;
        if (pk_page_query(&r->runs[i], "report_row", &a, &row, err))
            return err->code;
        pk_html(p->f,
                in_full(r, i) ? "<tr><td class=\"l\"><a href=\"#run-%\">%</a>" : "<tr><td class=\"l\">%%",
                in_full(r, i) ? r->runs[i].name : "", r->runs[i].name);
        for (size_t k = 0; k < row.n_cols && row.n; k++)
            pk_html(p->f, k + 1 < row.n_cols ? "<td class=\"l\">%" : "<td>%", pk_cell_string(&row.cells[k]));
        pk_html(p->f, "\n");
    }
    pk_html(p->f, "</tbody></table></div>\n");
    if (r->n > PK_PAGE_RUNS)
        pk_html(p->f, "<p class=\"note\">Of % runs the first and the last % stand below in full.</p>\n",
                pk_printf(p->a, "%zu", r->n), pk_printf(p->a, "%d", PK_PAGE_RUNS - 1));
    return PK_OK;
}

static enum pk_code put_compared(struct pk_page *p, struct pk_err *err)
{
    const struct pk_page_options *r = p->report;
    struct pk_err late;
    struct pk_page_tables t = {.page = p, .headline = r->n > 2 ? "" : NULL};
    struct pk_out *out = pk_page_out(&t);
    const enum pk_code code = r->comparison->print(r->comparison->user, out, err);
    const enum pk_code closed = pk_out_close(out, code ? &late : err);
    return code ? code : closed;
}

static enum pk_code put_comparison(struct pk_page *p, struct pk_err *err)
{
    const struct pk_page_options *r = p->report;
    pk_html(p->f, "<section id=\"comparison\">\n<h2>% compared with %</h2>\n", r->runs[r->n - 1].name,
            r->runs[0].name);
    if (!r->comparison)
        pk_html(p->f, "<p class=\"note\">Not compared: %</p>\n", r->not_comparable);
    else if (put_compared(p, err))
        return err->code;
    if (r->chart && pk_page_chart(p, r->chart, err))
        return err->code;
    pk_html(p->f, "</section>\n");
    return PK_OK;
}

static enum pk_code put_page(struct pk_page *p, struct pk_err *err)
{
    const struct pk_page_options *r = p->report;
    put_head(p, r->n > 1 ? pk_printf(p->a, "perfkit report of %zu runs", r->n)
                         : pk_printf(p->a, "perfkit report of run %s", r->runs[0].name));
    if (r->outcome)
        pk_html(p->f, "<p class=\"outcome\">% compared with %: %</p>\n", r->runs[r->n - 1].name,
                r->runs[0].name, r->outcome);
    if ((r->n > 1 && put_runs(p, err)) || (r->n > 2 && pk_page_trend(p, err)) ||
        (r->n > 1 && put_comparison(p, err)))
        return err->code;
    for (size_t i = 0; i < r->n; i++)
        if (in_full(r, i) && pk_page_run_section(p, &r->runs[i], err))
            return err->code;
    put_end(p);
    return PK_OK;
}

enum pk_code pk_page_write(const struct pk_page_options *r, FILE *f, struct pk_arena *a, struct pk_err *err)
{
    struct pk_page p = {.report = r, .f = f, .a = a, .charts = json_array(), .runs = json_array()};
    const enum pk_code code = put_page(&p, err);
    json_decref(p.charts);
    json_decref(p.runs);
    return code;
}
