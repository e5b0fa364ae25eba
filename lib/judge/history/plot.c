/* Plot: the first series of a history over their runs, drawn with characters. */
#include "judge/history/history.h"
#include "judge/report/report.h"

#include "base/text/buf.h"
#include "plot/plot.h"

#include <math.h>
#include <string.h>

enum { RUN, VALUE, LOW, HIGH, SERIES, COLUMNS, SERIES_MOST = 6 };

/* Whether a series is drawn with the first: one metric, one setup. */
static bool is_beside(const struct pk_history_series *first, const struct pk_history_series *s)
{
    return strcmp(first->newest->metric, s->newest->metric) == 0 && first->setup == s->setup;
}

static void put_point(struct pk_cell *to, const struct pk_history_point *p, const char *run,
                      const char *series)
{
    to[RUN] = pk_cell_text(run);
    to[VALUE] = pk_cell_real(p->f->median);
    to[LOW] = pk_cell_real(p->f->median * (1 - p->uncertainty));
    to[HIGH] = pk_cell_real(p->f->median * (1 + p->uncertainty));
    to[SERIES] = pk_cell_text(series);
}

/* The points of one series behind those that there are, and its change points as a note. */
static void add_series(struct pk_chart *c, struct pk_cell *cells, const struct pk_history_series *s,
                       const struct pk_history_run *runs, double min_effect, struct pk_arena *a)
{
    const char *name = pk_printf(a, "%s%s%s", s->newest->variant, *s->place ? " " : "", s->place);
    for (size_t i = 0; i < s->n; i++) {
        const char *run = pk_printf(a, "%lld", (long long)runs[s->points[i].run].facts.run_id);
        put_point(&cells[c->rows.n++ * COLUMNS], &s->points[i], run, name);
    }
    if (s->n_steps)
        c->notes[c->n_notes++] = pk_printf(a, "%s: %s.", name, pk_history_words(s, runs, min_effect, a));
}

enum pk_code pk_history_plot(struct pk_out *out, const struct pk_history *h,
                             const struct pk_history_view *view, struct pk_arena *a, struct pk_err *err)
{
    static const char *const names[] = {"run", "value", "low", "high", "series"};
    size_t n = 0, drawn = 0;
    for (size_t i = 0; i < h->n; i++)
        n += h->v[i].n;
    if (!pk_out_plots(out) || !n)
        return PK_OK;
    const struct pk_figures *f = h->v[0].newest;
    struct pk_column columns[COLUMNS] = {[RUN] = {.key = "run", .heading = "Run", .left = true},
                                         [VALUE] = {.key = "value", .heading = f->metric},
                                         [SERIES] = {.key = "series", .heading = "Case", .left = true}};
    pk_value_column(&columns[VALUE], f->unit, f->median, a);
    columns[LOW] = columns[HIGH] = columns[VALUE];
    struct pk_cell *cells = pk_new_n(a, struct pk_cell, n * COLUMNS);
    struct pk_chart c = {.name = "history",
                         .title = "Median over runs",
                         .encoding = {.mark = PK_MARK_LINE,
                                      .key = {[PK_CHANNEL_X] = "run",
                                              [PK_CHANNEL_Y] = "value",
                                              [PK_CHANNEL_LOW] = "low",
                                              [PK_CHANNEL_HIGH] = "high",
                                              [PK_CHANNEL_COLOR] = "series"},
                                      .scale = {[PK_CHANNEL_X] = PK_SCALE_ORDINAL},
                                      .guide = NAN},
                         .columns = columns,
                         .rows = {0, COLUMNS, names, cells},
                         .notes = pk_new_n(a, const char *, SERIES_MOST)};
    if (pk_chart_columns(&c, err))
        return err->code;
    for (size_t i = 0; i < h->n && drawn < SERIES_MOST; i++)
        if (is_beside(&h->v[0], &h->v[i]) && ++drawn)
            add_series(&c, cells, &h->v[i], view->runs, view->min_effect, a);
    return pk_plot_print(&c, out, err);
}
