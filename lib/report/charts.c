/* Charts: figures of a page, each with its rows folded beneath. */
#include "report/parts.h"

#include "base/file.h"
#include "base/text/buf.h"
#include "bench/own/descriptor_setting.h"
#include "plot/plot.h"
#include "report/html.h"

#include <string.h>

/* The rows that are drawn, as a table: it is what there is without JavaScript. */
static enum pk_code put_rows(struct pk_page *p, const struct pk_chart *c, struct pk_err *err)
{
    struct pk_page_tables t = {.page = p, .headline = ""};
    struct pk_out *out = pk_page_out(&t);
    pk_out_table(out, c->name, pk_printf(p->a, "Rows of this chart: %s", c->title), c->columns,
                 c->rows.n_cols);
    for (size_t row = 0; row < c->rows.n; row++)
        pk_out_row(out, &c->rows.cells[row * c->rows.n_cols]);
    return pk_out_close(out, err);
}

/* What is in a file as an address has it: "%3Csvg". */
static const char *address_of(FILE *f, struct pk_arena *a)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~ ,;=()'";
    struct pk_buf b = {.arena = a};
    rewind(f);
    for (int c; (c = getc(f)) != EOF;)
        if (c && strchr(plain, c))
            pk_buf_char(&b, (char)c);
        else
            pk_buf_printf(&b, "%%%02X", (unsigned)c);
    return pk_buf_text(&b);
}

static enum pk_code picture_of(const struct pk_chart *c, FILE *f, struct pk_err *err)
{
    struct pk_err second;
    const struct pk_out_options options = {.format = PK_FMT_TABLE, .list = true, .plot = "svg"};
    struct pk_out *out = pk_out_open(f, &options);
    const enum pk_code drawn = pk_plot_print(c, out, err), closed = pk_out_close(out, drawn ? &second : err);
    return drawn ? drawn : closed;
}

/* By gnuplot, as an image: in one, nothing runs. A drawing that fails leaves a line. */
static void put_picture(struct pk_page *p, const struct pk_chart *c)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    PK_CLEANUP_FILE FILE *f = tmpfile();
    struct pk_err err = {.what = "no temporary file for gnuplot"};
    if (f && !picture_of(c, f, &err))
        pk_html(p->f, "<img alt=\"%\" src=\"data:image/svg+xml,%\">\n", c->title, address_of(f, &a));
    else
        pk_html(p->f, "<p class=\"note\">% %</p>\n", err.what, err.why);
}

enum pk_code pk_page_chart(struct pk_page *p, const struct pk_chart *c, struct pk_err *err)
{
    size_t drawn;
    if (!c->rows.n)
        return PK_OK;
    json_t *spec = pk_page_spec(c, &drawn);
    pk_html(p->f, "<figure>\n<figcaption>%</figcaption>\n<div class=\"chart\" data-chart=\"%\"></div>\n",
            c->title, pk_printf(p->a, "%zu", json_array_size(p->charts)));
    json_array_append_new(p->charts, spec ? spec : json_null());
    if (p->pictures)
        put_picture(p, c);
    if (drawn < c->rows.n)
        pk_html(p->f, "<p class=\"note\">% of % rows are drawn, evenly chosen.</p>\n",
                pk_printf(p->a, "%zu", drawn), pk_printf(p->a, "%zu", c->rows.n));
    for (size_t i = 0; i < c->n_notes; i++)
        pk_html(p->f, "<p class=\"note\">%</p>\n", c->notes[i]);
    if (put_rows(p, c, err))
        return err->code;
    pk_html(p->f, "</figure>\n");
    return PK_OK;
}

static enum pk_code put_charts(struct pk_page *p, const struct pk_page_run *run, const char *text,
                               const char *name, struct pk_err *err)
{
    const struct pk_param param = pk_param_int(":run", run->run_id);
    struct pk_chart *v;
    size_t n;
    if (pk_charts_read(run->store, text, name, &param, 1, p->a, &v, &n, err))
        return err->code;
    for (size_t i = 0; i < n; i++)
        if (pk_page_chart(p, &v[i], err))
            return err->code;
    return PK_OK;
}

enum pk_code pk_page_charts(struct pk_page *p, const struct pk_page_run *run, struct pk_err *err)
{
    static const char *const general[] = {"gate_verdicts", "breakdown_shares", "roofline", "memory_over_time",
                                          "samples"};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows experiments;
    if (pk_page_query(run, "experiments", &a, &experiments, err))
        return err->code;
    for (size_t i = 0; i < experiments.n; i++) {
        const struct pk_probe *probe =
            pk_run_probe(run->store, run->run_id, experiments.cells[i * experiments.n_cols].s, p->a);
        const size_t before = json_array_size(p->charts);
        if (probe && *pk_probe_sql(probe) && put_charts(p, run, pk_probe_sql(probe), NULL, err))
            return err->code;
        if (json_array_size(p->charts) == before && put_charts(p, run, NULL, "times", err))
            return err->code;
    }
    for (size_t i = 0; i < sizeof general / sizeof *general; i++)
        if (put_charts(p, run, NULL, general[i], err))
            return err->code;
    return PK_OK;
}
