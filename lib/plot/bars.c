/* Bars: a line of the screen for each bar, stack, or point with its interval. */
#include "plot/parts.h"

#include <math.h>

enum { MOST = 40, LABEL_MOST = 40, GAP = 2 };

/* The widest text of a channel. */
static unsigned label_width(const struct pk_drawing *d, enum pk_channel channel)
{
    unsigned most = 0;
    for (size_t row = 0; row < d->c->rows.n; row++) {
        const unsigned width = pk_drawing_width(pk_drawing_text(d, row, channel));
        most = width > most ? width : most;
    }
    return most < LABEL_MOST ? most : LABEL_MOST;
}

/* "4.89 (4.85–4.93)" */
static const char *value_text(const struct pk_drawing *d, size_t row, enum pk_channel channel)
{
    const char *value = pk_drawing_text(d, row, channel), *low = pk_drawing_text(d, row, PK_CHANNEL_LOW);
    if (!*value)
        return pk_drawing_text(d, row, PK_CHANNEL_LABEL);
    return *low ? pk_printf(d->a, "%s (%s to %s)", value, low, pk_drawing_text(d, row, PK_CHANNEL_HIGH))
                : value;
}

static unsigned value_width(const struct pk_drawing *d, enum pk_channel channel)
{
    unsigned most = 0;
    for (size_t row = 0; row < d->c->rows.n; row++) {
        const unsigned width = pk_drawing_width(value_text(d, row, channel));
        most = width > most ? width : most;
    }
    return most;
}

static void fill(const struct pk_drawing *d, struct pk_canvas *canvas, int from, int to, int row,
                 size_t series)
{
    for (int col = from; col < to; col++)
        pk_canvas_text(canvas, col, row, pk_drawing_fill(d, series), (unsigned)series + 1);
}

/* The columns of a bar's line. */
struct columns {
    unsigned x, series, bar, value;
};

static struct columns columns_of(const struct pk_drawing *d, bool stack)
{
    struct columns k = {.x = label_width(d, PK_CHANNEL_X),
                        .series = stack ? 0 : label_width(d, PK_CHANNEL_COLOR),
                        .value = value_width(d, PK_CHANNEL_Y)};
    const unsigned others = k.x + k.series + k.value + 3 * GAP;
    k.bar = d->screen.width > others + 10 ? d->screen.width - others : 10;
    return k;
}

/* The largest bar, or stack of them. */
static double largest(const struct pk_drawing *d, bool stack)
{
    double most = 0;
    for (size_t i = 0; i < d->c->rows.n; i++)
        most = fmax(most, fmax(0, d->rows[i].y) + (stack ? d->rows[i].below : 0));
    return most > 0 && isfinite(most) ? most : 1;
}

/* The column where a bar of this length from the left ends. */
static int end_of(const struct columns *k, unsigned left, double length, double most)
{
    return (int)left + (int)lround(fmin(length / most, 1) * k->bar);
}

static void draw_bar(struct pk_drawing *d, const struct columns *k, size_t row, double most)
{
    struct pk_canvas canvas = pk_canvas_make(d->screen.width, 1, d->screen.ascii, d->a);
    const struct pk_drawn *r = &d->rows[row];
    const unsigned left = k->x + k->series + (k->series ? 2 : 1) * GAP;
    if (r->first == row)
        pk_canvas_text(&canvas, 0, 0, pk_drawing_text(d, row, PK_CHANNEL_X), 0);
    pk_canvas_text(&canvas, (int)(k->x + GAP), 0, pk_drawing_text(d, row, PK_CHANNEL_COLOR), 0);
    const int end = r->y > 0 ? end_of(k, left, r->y, most) : (int)left;
    fill(d, &canvas, (int)left, end, 0, r->series);
    pk_canvas_text(&canvas, end + 1, 0, value_text(d, row, PK_CHANNEL_Y), 0);
    pk_drawing_canvas(d, &canvas);
}

/* The bars of one x and facet, of which `first` is the first, on each other. */
static void draw_stack(struct pk_drawing *d, const struct columns *k, size_t first, double most)
{
    struct pk_canvas canvas = pk_canvas_make(d->screen.width, 1, d->screen.ascii, d->a);
    const unsigned left = k->x + GAP;
    double sum = 0;
    pk_canvas_text(&canvas, 0, 0, pk_drawing_text(d, first, PK_CHANNEL_X), 0);
    for (size_t row = first; row < d->c->rows.n; row++) {
        const struct pk_drawn *r = &d->rows[row];
        if (r->first != first || !(r->y > 0))
            continue;
        sum = r->below + r->y;
        fill(d, &canvas, end_of(k, left, r->below, most), end_of(k, left, sum, most), 0, r->series);
    }
    pk_canvas_text(&canvas, end_of(k, left, sum, most) + 1, 0, pk_printf(d->a, "%.4g", sum), 0);
    pk_drawing_canvas(d, &canvas);
}

void pk_draw_bars(struct pk_drawing *d)
{
    const bool stack = d->c->encoding.mark == PK_MARK_STACK;
    const struct columns k = columns_of(d, stack);
    const double most = largest(d, stack);
    size_t drawn = 0, left_out = 0;
    pk_drawing_line(d, pk_chart_heading(d->c, PK_CHANNEL_Y));
    for (size_t facet = 0; facet < d->facets.n_places; facet++) {
        if (*d->facets.places[facet] && drawn < MOST)
            pk_drawing_line(d, d->facets.places[facet]);
        for (size_t row = 0; row < d->c->rows.n; row++) {
            if (d->rows[row].facet != facet || (stack && d->rows[row].first != row))
                continue;
            left_out += drawn >= MOST;
            if (drawn++ >= MOST)
                continue;
            if (stack)
                draw_stack(d, &k, row, most);
            else
                draw_bar(d, &k, row, most);
        }
    }
    if (stack)
        pk_drawing_legend(d, pk_drawing_fill);
    if (left_out)
        pk_drawing_line(d, pk_printf(d->a, "%zu bars more: perfkit report", left_out));
}

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
    pk_canvas_text(&canvas, (int)(left + cols + 1), 0, value_text(d, row, PK_CHANNEL_X), 0);
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
    const unsigned label = label_width(d, PK_CHANNEL_Y), value = value_width(d, PK_CHANNEL_X);
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
