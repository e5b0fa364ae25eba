/* Plot: the first series of a history over their runs, with their change points, levels and thresholds: as a chart, or drawn. */
#include "judge/history/history.h"
#include "judge/report/report.h"

#include "plot/plot.h"

#include <math.h>
#include <string.h>

enum { RUN, VALUE, LOW, HIGH, SERIES, LEVEL, CHANGE_POINT, COLUMNS, SERIES_MOST = 6 };

static const char *const names[COLUMNS] = {"run", "value", "low", "high", "series", "level", "step"};

/* Whether a series is drawn with the first: one metric, one setup. */
static bool is_beside(const struct pk_history_series *first, const struct pk_history_series *s)
{
    return strcmp(first->newest->metric, s->newest->metric) == 0 && first->setup == s->setup;
}

/* The median of the level that a point belongs to; NaN where there are no levels. */
static double level_at(const struct pk_history_series *s, size_t point)
{
    double level = s->n_change_points ? s->change_points[0].before : NAN;
    for (size_t i = 0; i < s->n_change_points; i++)
        level = point >= s->change_points[i].at ? s->change_points[i].after : level;
    return level;
}

/* The change at a point; 0 where there is none, or it has no ratio. */
static double change_point_at(const struct pk_history_series *s, size_t run)
{
    for (size_t i = 0; i < s->n_change_points; i++)
        if (s->points[s->change_points[i].at].run == run && isfinite(s->change_points[i].change))
            return s->change_points[i].change;
    return 0;
}

/* What stands at a run, of all series that change there, with the first of them; NULL = nothing. */
static const char *change_text(const struct pk_history *h, const struct pk_history_series *s, size_t run,
                               struct pk_arena *a)
{
    size_t n = 0;
    for (size_t i = 0; i < h->n; i++) {
        if (!is_beside(&h->v[0], &h->v[i]) || change_point_at(&h->v[i], run) == 0)
            continue;
        if (!n++ && &h->v[i] != s)
            return NULL;
    }
    return n > 1 ? pk_printf(a, "%zu cases, %+.1f %% …", n, 100 * change_point_at(s, run))
           : n   ? pk_printf(a, "%+.1f %%", 100 * change_point_at(s, run))
                 : NULL;
}

/* A row of the chart; values that are not finite are not there. */
static struct pk_cell *add_row(struct pk_chart *c, struct pk_cell *cells, const struct pk_history_run *run,
                               const char *series, struct pk_arena *a)
{
    struct pk_cell *to = &cells[c->rows.n++ * COLUMNS];
    memset(to, 0, COLUMNS * sizeof *to);
    to[RUN] = pk_cell_text(pk_printf(a, "%lld", (long long)run->facts.run_id));
    to[SERIES] = pk_cell_text(series);
    return to;
}

static const char *name_of(const struct pk_history_series *s, struct pk_arena *a)
{
    return pk_printf(a, "%s%s%s", s->newest->variant, *s->place ? " " : "", s->place);
}

/* The points of one series in a run. */
static void add_points(struct pk_chart *c, struct pk_cell *cells, const struct pk_history *h,
                       const struct pk_history_series *s, size_t run, const struct pk_history_view *view,
                       struct pk_arena *a)
{
    const char *name = name_of(s, a);
    for (size_t i = 0; i < s->n; i++) {
        const struct pk_history_point *p = &s->points[i];
        if (p->run != run)
            continue;
        struct pk_cell *to = add_row(c, cells, &view->runs[p->run], name, a);
        const char *change_point = change_text(h, s, p->run, a);
        to[VALUE] = pk_cell_real(p->f->median);
        to[LOW] = pk_cell_real(p->f->median * (1 - p->uncertainty));
        to[HIGH] = pk_cell_real(p->f->median * (1 + p->uncertainty));
        to[LEVEL] = pk_cell_real(level_at(s, i));
        if (change_point)
            to[CHANGE_POINT] = pk_cell_text(change_point);
    }
}

/* How far the last level of the first series may change without counting. */
static void add_thresholds(struct pk_chart *c, struct pk_cell *cells, const struct pk_history_series *s,
                           const struct pk_history_view *view, struct pk_arena *a)
{
    for (int side = -1; side <= 1 && s->n_change_points; side += 2)
        for (size_t i = s->change_points[s->n_change_points - 1].at; i < s->n; i++)
            add_row(c, cells, &view->runs[s->points[i].run],
                    pk_printf(a, "threshold, %+g %%", 100 * side * view->min_effect), a)[LEVEL] =
                pk_cell_real(s->change_points[s->n_change_points - 1].after * (1 + side * view->min_effect));
}

static struct pk_column *columns_of(const struct pk_figures *f, struct pk_arena *a)
{
    struct pk_column *v = pk_new_n(a, struct pk_column, COLUMNS);
    v[RUN] = (struct pk_column){.key = "run", .heading = "Run", .left = true};
    v[VALUE] = (struct pk_column){.key = "value", .heading = f->metric};
    v[SERIES] = (struct pk_column){.key = "series", .heading = "Case", .left = true};
    v[CHANGE_POINT] = (struct pk_column){.key = "step", .heading = "Change point", .left = true};
    pk_value_column(&v[VALUE], f->unit, f->median, a);
    v[LOW] = v[HIGH] = v[LEVEL] = v[VALUE];
    v[LOW].heading = "From", v[HIGH].heading = "To", v[LEVEL].heading = "Level";
    return v;
}

enum pk_code pk_history_chart(const struct pk_history *h, const struct pk_history_view *view,
                              struct pk_arena *a, struct pk_chart *c, struct pk_err *err)
{
    const struct pk_history_series *drawn[SERIES_MOST];
    size_t n = 0, runs = 0, n_drawn = 0;
    for (size_t i = 0; i < h->n; i++) {
        n += h->v[i].n;
        if (n_drawn < SERIES_MOST && is_beside(&h->v[0], &h->v[i]))
            drawn[n_drawn++] = &h->v[i];
        for (size_t k = 0; k < h->v[i].n; k++)
            runs = h->v[i].points[k].run >= runs ? h->v[i].points[k].run + 1 : runs;
    }
    struct pk_cell *cells = pk_new_n(a, struct pk_cell, 3 * n * COLUMNS + 1);
    *c = (struct pk_chart){.name = "history",
                           .title = "Median over runs",
                           .encoding = {.mark = PK_MARK_LINE,
                                        .key = {[PK_CHANNEL_X] = "run",
                                                [PK_CHANNEL_Y] = "value",
                                                [PK_CHANNEL_LOW] = "low",
                                                [PK_CHANNEL_HIGH] = "high",
                                                [PK_CHANNEL_COLOR] = "series",
                                                [PK_CHANNEL_FIT] = "level",
                                                [PK_CHANNEL_RULE] = "step"},
                                        .scale = {[PK_CHANNEL_X] = PK_SCALE_ORDINAL},
                                        .guide = NAN},
                           .rows = {0, COLUMNS, names, cells},
                           .notes = pk_new_n(a, const char *, SERIES_MOST)};
    if (!n)
        return PK_OK;
    c->columns = columns_of(h->v[0].newest, a);
    for (size_t run = 0; run < runs;
         run++) /* not every series begins with the first: the places are in the order of the rows */
        for (size_t i = 0; i < n_drawn; i++)
            add_points(c, cells, h, drawn[i], run, view, a);
    for (size_t i = 0; i < n_drawn; i++)
        if (drawn[i]->n_change_points)
            c->notes[c->n_notes++] = pk_printf(a, "%s: %s.", name_of(drawn[i], a),
                                               pk_history_words(drawn[i], view->runs, view->min_effect, a));
    add_thresholds(c, cells, &h->v[0], view, a);
    return pk_chart_columns(c, err);
}

enum pk_code pk_history_plot(struct pk_out *out, const struct pk_history *h,
                             const struct pk_history_view *view, struct pk_arena *a, struct pk_err *err)
{
    struct pk_chart c;
    if (!pk_out_plots(out))
        return PK_OK;
    if (pk_history_chart(h, view, a, &c, err))
        return err->code;
    return c.rows.n ? pk_plot_print(&c, out, err) : PK_OK;
}
