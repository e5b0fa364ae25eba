/* Across: a line of the screen for each place of y: points with intervals, timelines, heat maps. */
#include "plot/parts.h"

#include <math.h>

enum { MOST = PK_DRAWING_MAX, GAP = PK_DRAWING_GAP };

static void draw_range(struct pk_drawing *d, unsigned label, unsigned cols, size_t row)
{
    struct pk_canvas canvas = pk_canvas_make(d->screen.width, 1, d->screen.ascii, d->a);
    const size_t s = d->rows[row].series;
    const unsigned left = label + GAP;
    const double places[] = {pk_chart_number(d->c, row, PK_CHANNEL_LOW),
                             pk_chart_number(d->c, row, PK_CHANNEL_HIGH),
                             pk_chart_number(d->c, row, PK_CHANNEL_X), d->c->encoding.guide};
    enum { LOW, HIGH, POINT, GUIDE, PLACES };
    int at[PLACES];
    for (size_t i = 0; i < PLACES; i++) {
        const double place = pk_plot_place(&d->x, places[i]);
        at[i] = isfinite(place) ? (int)(left + (unsigned)lround(place * (cols - 1))) : -1;
    }
    pk_canvas_text(&canvas, 0, 0, pk_drawing_text(d, row, PK_CHANNEL_Y), 0);
    pk_canvas_text(&canvas, (int)label, 0, "  ", 0);
    pk_canvas_text(&canvas, at[GUIDE], 0, d->screen.ascii ? "|" : "│", 0);
    for (int col = at[LOW]; at[LOW] >= 0 && col <= at[HIGH]; col++)
        pk_canvas_text(&canvas, col, 0, d->screen.ascii ? "-" : "─", (unsigned)s + 1);
    pk_canvas_text(&canvas, at[POINT], 0, pk_drawing_mark(d, s), (unsigned)s + 1);
    pk_canvas_text(&canvas, (int)(left + cols + 1), 0, pk_drawing_value(d, row, PK_CHANNEL_X), 0);
    pk_drawing_canvas(d, &canvas);
}

/* The axis below points with intervals. */
static void draw_axis(struct pk_drawing *d, unsigned label, unsigned cols)
{
    enum { TICK_COLUMNS = 10 };
    struct pk_canvas canvas = pk_canvas_make(d->screen.width, 2, d->screen.ascii, d->a);
    double ticks[PK_PLOT_TICKS];
    const int left = (int)(label + GAP), end = left + (int)cols;
    const size_t n = pk_plot_ticks(&d->x, cols / TICK_COLUMNS, ticks);
    for (int col = left; col < end; col++)
        pk_canvas_text(&canvas, col, 0, d->screen.ascii ? "-" : "─", 0);
    for (size_t i = 0; i < n; i++) {
        const char *text = pk_plot_tick_text(&d->x, ticks[i], d->a);
        const int width = (int)pk_drawing_width(text);
        const int col = left + (int)lround(pk_plot_place(&d->x, ticks[i]) * (cols - 1));
        pk_canvas_text(&canvas, col, 0, d->screen.ascii ? "+" : "┬", 0);
        pk_canvas_text(&canvas, col + width > end ? end - width : col, 1, text, 0);
    }
    pk_drawing_canvas(d, &canvas);
}

void pk_draw_ranges(struct pk_drawing *d)
{
    const unsigned label = pk_drawing_label_width(d, PK_CHANNEL_Y),
                   value = pk_drawing_value_width(d, PK_CHANNEL_X);
    const unsigned others = label + value + GAP + 1;
    const unsigned cols = d->screen.width > others + 10 ? d->screen.width - others : 10;
    pk_drawing_line(d,
                    pk_printf(d->a, "%*s%s", (int)(label + GAP), "", pk_chart_heading(d->c, PK_CHANNEL_X)));
    for (size_t row = 0; row < d->c->rows.n && row < MOST; row++)
        draw_range(d, label, cols, row);
    draw_axis(d, label, cols);
    pk_drawing_legend(d, pk_drawing_mark);
    if (d->c->rows.n > MOST)
        pk_drawing_line(d, pk_printf(d->a, "%zu rows more: perfkit report", d->c->rows.n - MOST));
}

/* --- timelines --- */

struct track {
    int left; /* the column where the axis begins */
    unsigned cols;
};

static int column_of(const struct pk_drawing *d, const struct track *t, double x)
{
    const double place = pk_plot_place(&d->x, x);
    return isfinite(place) ? t->left + (int)lround(place * (t->cols - 1)) : -1;
}

static void draw_rules(struct pk_drawing *d, const struct track *t, size_t facet, struct pk_canvas *canvas,
                       bool named)
{
    for (size_t row = 0; row < d->c->rows.n; row++) {
        const char *text = pk_drawing_text(d, row, PK_CHANNEL_RULE);
        const int col = column_of(d, t, d->rows[row].x), width = (int)pk_drawing_width(text);
        if (!*text || col < 0 || d->rows[row].facet != facet)
            continue;
        pk_canvas_text(canvas, col, 0, d->screen.ascii ? "|" : "┊", 0);
        if (named)
            pk_canvas_text(canvas, col - width > t->left ? col - width : col + 2, 0, text, 0);
    }
}

static void draw_track(struct pk_drawing *d, const struct track *t, size_t first)
{
    struct pk_canvas canvas = pk_canvas_make(d->screen.width, 1, d->screen.ascii, d->a);
    pk_canvas_text(&canvas, 0, 0, pk_drawing_text(d, first, PK_CHANNEL_Y), 0);
    for (size_t row = first; row < d->c->rows.n; row++) {
        const struct pk_plot_row *r = &d->rows[row];
        const int from = column_of(d, t, r->x), to = column_of(d, t, r->x2);
        for (int col = from; r->first == first && from >= 0 && (col < to || col == from); col++)
            pk_canvas_text(&canvas, col, 0, pk_drawing_fill(d, r->series), (unsigned)r->series + 1);
    }
    draw_rules(d, t, d->rows[first].facet, &canvas, false);
    pk_drawing_canvas(d, &canvas);
}

/* Whether a row is the first of a line. */
static bool begins(const struct pk_drawing *d, size_t row, size_t facet)
{
    const struct pk_plot_row *r = &d->rows[row];
    return r->facet == facet && r->first == row &&
           pk_chart_cell(d->c, row, PK_CHANNEL_Y)->type != PK_CELL_NULL;
}

void pk_draw_spans(struct pk_drawing *d)
{
    const unsigned label = pk_drawing_label_width(d, PK_CHANNEL_Y);
    const struct track t = {(int)(label + GAP),
                            d->screen.width > label + GAP + 10 ? d->screen.width - label - GAP : 10};
    size_t drawn = 0;
    for (size_t facet = 0; facet < d->facets.n_places && drawn < MOST; facet++) {
        struct pk_canvas names = pk_canvas_make(d->screen.width, 1, d->screen.ascii, d->a);
        if (*d->facets.places[facet])
            pk_drawing_paragraph(d, d->facets.places[facet]);
        draw_rules(d, &t, facet, &names, true);
        if (d->c->at[PK_CHANNEL_RULE] != (size_t)PK_CHART_NONE)
            pk_drawing_canvas(d, &names);
        for (size_t row = 0; row < d->c->rows.n && drawn < MOST; row++)
            if (begins(d, row, facet) && ++drawn)
                draw_track(d, &t, row);
    }
    draw_axis(d, label, t.cols);
    pk_drawing_line(d, pk_printf(d->a, "%*s%s", t.left, "", pk_chart_heading(d->c, PK_CHANNEL_X)));
    pk_drawing_legend(d, pk_drawing_fill);
    if (drawn == MOST)
        pk_drawing_line(d, "At most 40 lines are drawn; all: perfkit report");
}

/* --- heat maps --- */

/* A cell's shade and its text. */
static const char *cell_text(const struct pk_drawing *d, size_t row, const struct pk_plot_scale *heat)
{
    static const char *const shades[] = {"░", "▒", "▓", "█"}, *const ascii[] = {".", "-", "=", "#"};
    enum { SHADES = sizeof shades / sizeof *shades };
    const double place = pk_plot_place(heat, pk_chart_number(d->c, row, PK_CHANNEL_COLOR));
    const char *label = pk_drawing_text(d, row, PK_CHANNEL_LABEL);
    const size_t shade = isfinite(place) ? (size_t)fmin(SHADES - 1, fmax(0, place * SHADES)) : 0;
    return pk_printf(d->a, "%s %s", isfinite(place) ? (d->screen.ascii ? ascii : shades)[shade] : " ",
                     *label ? label : pk_drawing_text(d, row, PK_CHANNEL_COLOR));
}

static void draw_cells_of(struct pk_drawing *d, size_t facet, unsigned label, unsigned width,
                          const struct pk_plot_scale *heat)
{
    struct pk_canvas head = pk_canvas_make(d->screen.width, 1, d->screen.ascii, d->a);
    pk_canvas_text(&head, 0, 0, d->facets.places[facet], 0);
    for (size_t i = 0; i < d->x.n_places; i++)
        pk_canvas_text(&head, (int)(label + GAP + i * (width + GAP) + 2), 0, d->x.places[i], 0);
    pk_drawing_canvas(d, &head);
    for (size_t first = 0; first < d->c->rows.n; first++) {
        struct pk_canvas canvas = pk_canvas_make(d->screen.width, 1, d->screen.ascii, d->a);
        if (!begins(d, first, facet))
            continue;
        pk_canvas_text(&canvas, 0, 0, pk_drawing_text(d, first, PK_CHANNEL_Y), 0);
        for (size_t row = first; row < d->c->rows.n; row++)
            if (d->rows[row].first == first && isfinite(d->rows[row].x))
                pk_canvas_text(&canvas, (int)(label + GAP + (unsigned)d->rows[row].x * (width + GAP)), 0,
                               cell_text(d, row, heat), 0);
        pk_drawing_canvas(d, &canvas);
    }
}

void pk_draw_cells(struct pk_drawing *d)
{
    struct pk_plot_scale heat = {d->c->encoding.scale[PK_CHANNEL_COLOR], INFINITY, -INFINITY};
    unsigned label = pk_drawing_label_width(d, PK_CHANNEL_Y), width = 0;
    for (size_t row = 0; row < d->c->rows.n; row++)
        pk_plot_take(&heat, pk_chart_number(d->c, row, PK_CHANNEL_COLOR));
    pk_plot_ready(&heat);
    for (size_t row = 0; row < d->c->rows.n; row++)
        width = (unsigned)fmax(width, pk_drawing_width(cell_text(d, row, &heat)));
    for (size_t i = 0; i < d->facets.n_places; i++)
        label = (unsigned)fmax(label, pk_drawing_width(d->facets.places[i]));
    pk_drawing_paragraph(
        d, pk_printf(d->a, "%s; across: %s, down: %s", pk_chart_heading(d->c, PK_CHANNEL_COLOR),
                     pk_chart_heading(d->c, PK_CHANNEL_X), pk_chart_heading(d->c, PK_CHANNEL_Y)));
    for (size_t facet = 0; facet < d->facets.n_places; facet++)
        draw_cells_of(d, facet, label, width, &heat);
}
