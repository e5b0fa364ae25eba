/* Lines: points over two axes, joined within a series, with error bars, a fit and a guide; or areas on each other. */
#include "plot/parts.h"

#include <math.h>
#include <string.h>

enum {
    GUTTER = 9,        /* what stands beside the axis of y */
    ROWS = 14,         /* of a panel */
    AROUND = 4,        /* its heading, the axis of x, what stands below it, a blank line */
    PANELS = 4,        /* more are left out */
    BESIDE_FROM = 90,  /* columns from which two stand side by side */
    TICK_COLUMNS = 10, /* of an axis for each tick */
    TICK_ROWS = 3,
    ERROR_BARS_FROM = 30 /* columns of a panel */
};

/* One drawing of several: where its points are in a canvas. */
struct panel {
    struct pk_canvas *canvas;
    int col, row; /* the left upper cell of the area of the points */
    unsigned cols, rows;
};

static struct pk_canvas_dot dot_of(const struct pk_drawing *d, const struct panel *p, double x, double y)
{
    return (struct pk_canvas_dot){
        PK_CANVAS_ACROSS * p->col + pk_plot_place(&d->x, x) * (PK_CANVAS_ACROSS * p->cols - 1),
        PK_CANVAS_DOWN * p->row + (1 - pk_plot_place(&d->y, y)) * (PK_CANVAS_DOWN * p->rows - 1)};
}

static bool is_inside(struct pk_canvas_dot at)
{
    return isfinite(at.x) && isfinite(at.y);
}

static void join(struct panel *p, struct pk_canvas_dot from, struct pk_canvas_dot to, bool dashed,
                 size_t series)
{
    if (is_inside(from) && is_inside(to))
        pk_canvas_line(p->canvas, from, to, dashed, (unsigned)series + 1);
}

static void draw_axes(struct pk_drawing *d, struct panel *p, const char *heading)
{
    double ticks[PK_PLOT_TICKS];
    const bool ascii = d->screen.ascii;
    const int bottom = p->row + (int)p->rows;
    pk_canvas_text(p->canvas, p->col, p->row - 1, heading, 0);
    for (int row = p->row; row < bottom; row++)
        pk_canvas_text(p->canvas, p->col - 1, row, ascii ? "|" : "│", 0);
    for (int col = p->col - 1; col < p->col + (int)p->cols; col++)
        pk_canvas_text(p->canvas, col, bottom, ascii ? "-" : col < p->col ? "└" : "─", 0);
    const size_t rows = pk_plot_ticks(&d->y, p->rows / TICK_ROWS, ticks);
    for (size_t i = 0; i < rows; i++) {
        const char *text = pk_plot_tick_text(&d->y, ticks[i], d->a);
        const struct pk_canvas_dot at = dot_of(d, p, d->x.lo, ticks[i]);
        if (!is_inside(at))
            continue;
        const int row = (int)(at.y / PK_CANVAS_DOWN);
        pk_canvas_text(p->canvas, p->col - 2 - (int)pk_drawing_width(text), row, text, 0);
        pk_canvas_text(p->canvas, p->col - 1, row, ascii ? "+" : "┤", 0);
    }
    const size_t cols = pk_plot_ticks(&d->x, p->cols / TICK_COLUMNS, ticks);
    for (size_t i = 0; i < cols; i++) {
        const char *text = pk_plot_tick_text(&d->x, ticks[i], d->a);
        const struct pk_canvas_dot at = dot_of(d, p, ticks[i], d->y.lo);
        if (!is_inside(at))
            continue;
        const int col = (int)(at.x / PK_CANVAS_ACROSS);
        const int last = p->col + (int)p->cols - (int)pk_drawing_width(text),
                  centred = col - (int)pk_drawing_width(text) / 2;
        pk_canvas_text(p->canvas, col, bottom, ascii ? "+" : "┬", 0);
        pk_canvas_text(p->canvas, centred > last ? last : centred, bottom + 1, text, 0);
    }
}

/* Lines first, so that marks stand over them. */
static void draw_lines(struct pk_drawing *d, struct panel *p, size_t facet)
{
    struct pk_canvas_dot *last = pk_new_n(d->a, struct pk_canvas_dot, 2 * d->series.n_places);
    for (size_t i = 0; i < 2 * d->series.n_places; i++)
        last[i] = (struct pk_canvas_dot){NAN, NAN};
    for (size_t row = 0; row < d->c->rows.n; row++) {
        const struct pk_plot_row *r = &d->rows[row];
        const size_t s = r->series;
        if (r->facet != facet)
            continue;
        const struct pk_canvas_dot at = dot_of(d, p, r->x, r->y);
        const struct pk_canvas_dot fit = dot_of(d, p, r->x, pk_chart_number(d->c, row, PK_CHANNEL_FIT));
        if (d->c->encoding.mark == PK_MARK_LINE)
            join(p, last[2 * s], at, false, s);
        join(p, last[2 * s + 1], fit, true, s);
        if (p->cols >= ERROR_BARS_FROM)
            join(p, dot_of(d, p, r->x, pk_chart_number(d->c, row, PK_CHANNEL_LOW)),
                 dot_of(d, p, r->x, pk_chart_number(d->c, row, PK_CHANNEL_HIGH)), false, s);
        last[2 * s] = at;
        last[2 * s + 1] = fit;
    }
    join(p, dot_of(d, p, d->x.lo, d->c->encoding.guide), dot_of(d, p, d->x.hi, d->c->encoding.guide), true,
         SIZE_MAX);
}

/* Of a series without a point at x its name and label, at the upper edge, below those of others. */
static void draw_missing(struct pk_drawing *d, struct panel *p, size_t row, const char *label)
{
    const struct pk_plot_row *r = &d->rows[row];
    const double x = dot_of(d, p, r->x, d->y.lo).x;
    const char *name = d->series.places[r->series];
    const char *text = *name ? pk_printf(d->a, "%s %s", name, label) : label;
    const int last = p->col + (int)p->cols - (int)pk_drawing_width(text);
    unsigned below = 0;
    if (!isfinite(x))
        return;
    for (size_t i = 0; i < row; i++)
        below += d->rows[i].facet == r->facet && d->rows[i].x == r->x && !isfinite(d->rows[i].y);
    pk_canvas_text(p->canvas, (int)fmin(last, x / PK_CANVAS_ACROSS), p->row + (int)(below % p->rows), text,
                   (unsigned)r->series + 1);
}

static void draw_marks(struct pk_drawing *d, struct panel *p, size_t facet)
{
    for (size_t row = 0; row < d->c->rows.n; row++) {
        const struct pk_plot_row *r = &d->rows[row];
        if (r->facet != facet)
            continue;
        const struct pk_canvas_dot at = dot_of(d, p, r->x, r->y);
        const char *label = pk_drawing_text(d, row, PK_CHANNEL_LABEL);
        if (is_inside(at))
            pk_canvas_mark(p->canvas, at, pk_drawing_mark(d, r->series), (unsigned)r->series + 1);
        else if (*label)
            draw_missing(d, p, row, label);
    }
}

/* A dotted line at x with its text at the upper edge: those of neighbours are below each other. */
static void draw_rules(struct pk_drawing *d, struct panel *p, size_t facet, enum pk_channel channel)
{
    enum { BELOW = 4 };
    const char *last = "";
    for (size_t row = 0, drawn = 0; row < d->c->rows.n; row++) {
        const char *text = pk_drawing_text(d, row, channel);
        const struct pk_canvas_dot top = dot_of(d, p, d->rows[row].x, d->y.hi);
        if (d->rows[row].facet != facet || !*text || !is_inside(top) || strcmp(text, last) == 0)
            continue;
        last = channel == PK_CHANNEL_BAND ? text : "";
        const int width = (int)pk_drawing_width(text), col = (int)(top.x / PK_CANVAS_ACROSS);
        const bool fits = col + width < p->col + (int)p->cols || col - width < p->col;
        pk_canvas_line(p->canvas, top, dot_of(d, p, d->rows[row].x, d->y.lo), true, 0);
        pk_canvas_text(p->canvas, fits ? col + 1 : col - width, p->row + (int)(drawn++ % BELOW), text, 0);
    }
}

/* Of the moments that share a column of the screen the largest is drawn. */
static void draw_areas(struct pk_drawing *d, struct panel *p, size_t facet)
{
    size_t *largest = pk_new_n(d->a, size_t, p->cols); /* the first row of each column's group, and 1 */
    for (int pass = 0; pass < 2; pass++)
        for (size_t row = 0; row < d->c->rows.n; row++) {
            const struct pk_plot_row *r = &d->rows[row];
            const double from = pk_plot_place(&d->x, r->x), to = pk_plot_place(&d->x, r->x2);
            const double above = pk_plot_place(&d->y, r->below + r->y),
                         below = pk_plot_place(&d->y, r->below);
            if (r->facet != facet || !isfinite(from + to + above + below))
                continue;
            const unsigned first = (unsigned)(from * (p->cols - 1)), last = (unsigned)(to * (p->cols - 1));
            for (unsigned col = first; col <= last && col < p->cols; col++) {
                if (!pass && (!largest[col] || d->rows[largest[col] - 1].sum <= d->rows[r->first].sum))
                    largest[col] = r->first + 1;
                for (int y = (int)lround(below * p->rows);
                     pass && largest[col] == r->first + 1 && y < (int)lround(above * p->rows); y++)
                    pk_canvas_text(p->canvas, p->col + (int)col, p->row + (int)p->rows - 1 - y,
                                   pk_drawing_fill(d, r->series), (unsigned)r->series + 1);
            }
        }
}

/* All that a panel shows. */
static void draw_panel(struct pk_drawing *d, struct panel *p, size_t facet)
{
    const char *y = pk_chart_heading(d->c, PK_CHANNEL_Y), *name = d->facets.places[facet];
    draw_axes(d, p, *name ? pk_printf(d->a, "%s, %s", name, y) : y);
    if (d->c->encoding.mark == PK_MARK_AREA) {
        draw_areas(d, p, facet);
        draw_rules(d, p, facet, PK_CHANNEL_BAND);
        return;
    }
    draw_rules(d, p, facet, PK_CHANNEL_RULE);
    draw_lines(d, p, facet);
    draw_marks(d, p, facet);
}

void pk_draw_panels(struct pk_drawing *d)
{
    const size_t n = d->facets.n_places < PANELS ? d->facets.n_places : PANELS;
    const unsigned beside = n > 1 && d->screen.width >= BESIDE_FROM ? 2 : 1;
    const unsigned width = d->screen.width / beside, bands = ((unsigned)n + beside - 1) / beside;
    struct pk_canvas canvas =
        pk_canvas_make(d->screen.width, bands * (ROWS + AROUND) - 1, d->screen.ascii, d->a);
    for (unsigned i = 0; i < n; i++) {
        struct panel p = {&canvas, (int)(i % beside * width + GUTTER + 1),
                          (int)(i / beside * (ROWS + AROUND) + 1), width - GUTTER - 3, ROWS};
        draw_panel(d, &p, i);
    }
    pk_drawing_canvas(d, &canvas);
    pk_drawing_line(d, pk_printf(d->a, "%*s%s", GUTTER + 1, "", pk_chart_heading(d->c, PK_CHANNEL_X)));
    pk_drawing_legend(d, d->c->encoding.mark == PK_MARK_AREA ? pk_drawing_fill : pk_drawing_mark);
    if (d->facets.n_places > n)
        pk_drawing_line(d, pk_printf(d->a, "%zu drawings more: perfkit report", d->facets.n_places - n));
}
