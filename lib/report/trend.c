/* Trend: of more than two runs each against the first, and their cases over all of them. */
#include "report/parts.h"

#include "base/text/words.h"
#include "judge/history/history.h"
#include "report/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct pk_column columns[] = {
    {.key = "run", .heading = "Run", .left = true},
    {.key = "label", .heading = "Label", .left = true},
    {.key = "metric", .heading = "Metric", .left = true},
    {.key = "cases", .heading = "Cases", .decimals = -1},
    {.key = "ratio", .heading = "Run / first", .decimals = 3},
    {.key = "ratio_low", .heading = "Interval", .decimals = 3, .interval = true},
    {.key = "ratio_high", .heading = "to"},
    {.key = "largest", .heading = "Largest change", .left = true},
    {.key = "largest_ratio", .heading = "of it", .decimals = 3},
    {.key = "differs", .heading = "Setup differs", .left = true},
};

/* The row of a metric that changed most; NULL = none has a ratio. */
static const struct pk_compared *largest_change(const struct pk_comparison *c, const char *metric)
{
    const struct pk_compared *most = NULL;
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->v[i].new_->metric, metric) == 0 && c->v[i].ratio.ratio > 0 &&
            (!most || fabs(log(c->v[i].ratio.ratio)) > fabs(log(most->ratio.ratio))))
            most = &c->v[i];
    return most;
}

struct trend_base {
    struct pk_page *p;
    struct pk_out *out;
    const char *run, *label, *differs;
    const struct pk_comparison *c;
};

static void put_row(const struct trend_base *t, const char *metric, size_t cases, const struct pk_ratio *r)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_compared *most = cases > 1 ? largest_change(t->c, metric) : NULL;
    struct pk_row *row = pk_row_begin(t->out);
    pk_put_nonempty(row, "run", t->run);
    pk_put_nonempty(row, "label", t->label);
    pk_put_nonempty(row, "metric", metric);
    pk_put_int(row, "cases", (int64_t)cases);
    pk_put_real(row, "ratio", r->ratio);
    pk_put_real(row, "ratio_low", r->ci.lo);
    pk_put_real(row, "ratio_high", r->ci.hi);
    pk_put_nonempty(row, "largest", most ? pk_printf(&a, "%s %s", most->new_->variant, most->place) : NULL);
    pk_put_real(row, "largest_ratio", most ? most->ratio.ratio : NAN);
    pk_put_nonempty(row, "differs", t->differs);
    pk_row_end(row);
}

/* A row for each metric: the geometric mean over the cases of both, or the one case. Without one in common: none. */
static enum pk_code put_rows(struct trend_base *t, const struct pk_history_run *first,
                             const struct pk_history_run *run, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_compare_options what = t->p->report->what;
    struct pk_comparison c = {0};
    const char *const *differences;
    what.design = PK_DESIGN_STORED;
    if (pk_compare_runs(&first->figures, &run->figures, &what, &a, &c, err) &&
        err->code != PK_E_NOT_COMPARABLE)
        return err->code;
    const size_t n = pk_compare_setups(&first->facts, &run->facts, &a, &differences);
    t->c = &c;
    t->label = run->facts.label;
    t->differs = pk_list(differences, n, "; ", &a);
    for (size_t i = 0; i < c.n_means; i++)
        put_row(t, c.means[i].metric, c.means[i].cases, &c.means[i].ratio);
    for (size_t i = 0; i < c.n && !c.n_means; i++)
        put_row(t, c.v[i].new_->metric, 1, &c.v[i].ratio);
    return PK_OK;
}

static enum pk_code put_table(struct pk_page *p, const struct pk_history_run *runs, struct pk_err *err)
{
    const struct pk_page_options *r = p->report;
    struct pk_page_tables tables = {.page = p};
    struct pk_out *out = pk_page_out(&tables);
    struct pk_err late;
    enum pk_code code = PK_OK;
    pk_out_table(out, "against_first", pk_printf(p->a, "Each run against %s", r->runs[0].name),
                 PK_COLUMNS(columns));
    for (size_t i = 1; i < r->n && !code; i++) {
        struct trend_base t = {.p = p, .out = out, .run = r->runs[i].name};
        code = put_rows(&t, &runs[0], &runs[i], err);
    }
    pk_out_note(out, "Run / first is the geometric mean over the cases that both have. No row is judged: "
                     "two recordings cannot tell a change from the noise between them.");
    const enum pk_code closed = pk_out_close(out, code ? &late : err);
    return code ? code : closed;
}

static int by_time(const void *x, const void *y)
{
    const struct pk_history_run *a = x, *b = y;
    const int order = strcmp(a->facts.started_at, b->facts.started_at);
    return order ? order : (a->facts.run_id > b->facts.run_id) - (a->facts.run_id < b->facts.run_id);
}

/* The runs of the first one's experiment in the order of time, each once. */
static size_t in_order(struct pk_history_run *runs, size_t n)
{
    size_t kept = 0;
    const char *experiment = runs[0].facts.experiment;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < kept && strcmp(runs[k].facts.uuid, runs[i].facts.uuid) != 0)
            k++;
        if (k == kept && strcmp(runs[i].facts.experiment, experiment) == 0)
            runs[kept++] = runs[i];
    }
    qsort(runs, kept, sizeof *runs, by_time);
    return kept;
}

/* Every case in a row, and the first of them run by run. */
static enum pk_code put_series(struct pk_page *p, const struct pk_history *h,
                               const struct pk_history_view *view, struct pk_arena *a, struct pk_err *err)
{
    struct pk_page_tables tables = {.page = p, .headline = "series"};
    struct pk_out *out = pk_page_out(&tables);
    pk_history_print(out, h, view, a);
    return pk_out_close(out, err);
}

static enum pk_code put_history(struct pk_page *p, const struct pk_history_run *all, struct pk_arena *a,
                                struct pk_err *err)
{
    const struct pk_page_options *r = p->report;
    const char *experiment = all[0].facts.experiment;
    const struct pk_history_options options = {.what = r->what, .min_effect = r->min_effect};
    struct pk_history_run *runs = pk_new_n(a, struct pk_history_run, r->n);
    struct pk_history h;
    struct pk_chart chart;
    memcpy(runs, all, r->n * sizeof *runs);
    if (pk_history_make(runs, in_order(runs, r->n), experiment, &options, a, &h, err)) {
        pk_html(p->f, "<p class=\"note\">No trend: %.</p>\n", err->why);
        return err->code == PK_E_NOTHING || err->code == PK_E_USAGE ? PK_OK : err->code;
    }
    const struct pk_history_view view = {
        .runs = runs, .experiment = experiment, .min_effect = r->min_effect, .people = true};
    if (pk_history_chart(&h, &view, a, &chart, err) || pk_page_chart(p, &chart, err))
        return err->code;
    return put_series(p, &h, &view, a, err);
}

static enum pk_code read_runs(const struct pk_page_options *r, struct pk_history_run *runs,
                              struct pk_arena *a, struct pk_err *err)
{
    for (size_t i = 0; i < r->n; i++) {
        struct pk_figures *v;
        if (pk_store_run_facts(r->runs[i].store, r->runs[i].run_id, a, &runs[i].facts, err) ||
            pk_store_figures(r->runs[i].store, r->runs[i].run_id, a, &v, &runs[i].figures.n,
                             &runs[i].facts.cases_ok, err))
            return err->code;
        runs[i].figures.v = v;
        runs[i].figures.name = r->runs[i].name;
    }
    return PK_OK;
}

enum pk_code pk_page_trend(struct pk_page *p, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_history_run *runs = pk_new_n(&a, struct pk_history_run, p->report->n);
    if (read_runs(p->report, runs, &a, err))
        return err->code;
    pk_html(p->f, "<section id=\"trend\">\n<h2>% runs</h2>\n", pk_printf(&a, "%zu", p->report->n));
    if (put_history(p, runs, &a, err) || put_table(p, runs, err))
        return err->code;
    pk_html(p->f, "</section>\n");
    return PK_OK;
}
