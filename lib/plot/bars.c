/* Bars: a line of the screen for each bar or stack. */
#include "plot/parts.h"

#include <math.h>
#include <string.h>

enum { MOST = PK_DRAWING_MAX, GAP = PK_DRAWING_GAP };

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

/* Of bars that have the colour of their x, the name stands once. */
static bool is_named_by_x(const struct pk_drawing *d)
{
    size_t i = 0;
    while (i < d->c->rows.n &&
           strcmp(pk_drawing_text(d, i, PK_CHANNEL_X), pk_drawing_text(d, i, PK_CHANNEL_COLOR)) == 0)
        i++;
    return i == d->c->rows.n;
}

static struct columns columns_of(const struct pk_drawing *d, bool stack)
{
    struct columns k = {.x = pk_drawing_label_width(d, PK_CHANNEL_X),
                        .series = stack || is_named_by_x(d) ? 0 : pk_drawing_label_width(d, PK_CHANNEL_COLOR),
                        .value = pk_drawing_value_width(d, PK_CHANNEL_Y)};
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

/* The column where a bar of this length from the left ends. On a logarithmic axis bars begin at the guide. */
static int end_of(const struct pk_drawing *d, const struct columns *k, unsigned left, double length,
                  double most)
{
    const double guide = d->c->encoding.guide;
    const bool is_log = d->c->encoding.scale[PK_CHANNEL_Y] != PK_SCALE_LINEAR && guide > 0 && most > guide;
    const double share = is_log ? log(length / guide) / log(most / guide) : length / most;
    return (int)left + (int)lround(fmax(0, fmin(share, 1)) * k->bar);
}

static void draw_bar(struct pk_drawing *d, const struct columns *k, size_t row, double most)
{
    struct pk_canvas canvas = pk_canvas_make(d->screen.width, 1, d->screen.ascii, d->a);
    const struct pk_plot_row *r = &d->rows[row];
    const unsigned left = k->x + k->series + (k->series ? 2 : 1) * GAP;
    if (r->first == row)
        pk_canvas_text(&canvas, 0, 0, pk_drawing_text(d, row, PK_CHANNEL_X), 0);
    if (k->series)
        pk_canvas_text(&canvas, (int)(k->x + GAP), 0, pk_drawing_text(d, row, PK_CHANNEL_COLOR), 0);
    const int end = r->y > 0 ? end_of(d, k, left, r->y, most) : (int)left;
    fill(d, &canvas, (int)left, end, 0, r->series);
    pk_canvas_text(&canvas, end + 1, 0, pk_drawing_value(d, row, PK_CHANNEL_Y), 0);
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
        const struct pk_plot_row *r = &d->rows[row];
        if (r->first != first || !(r->y > 0))
            continue;
        sum = r->below + r->y;
        fill(d, &canvas, end_of(d, k, left, r->below, most), end_of(d, k, left, sum, most), 0, r->series);
    }
    pk_canvas_text(&canvas, end_of(d, k, left, sum, most) + 1, 0, pk_printf(d->a, "%.4g", sum), 0);
    pk_drawing_canvas(d, &canvas);
}

void pk_draw_bars(struct pk_drawing *d)
{
    const bool stack = d->c->encoding.mark == PK_MARK_STACK;
    const struct columns k = columns_of(d, stack);
    const double most = largest(d, stack);
    size_t drawn = 0, left_out = 0;
    pk_drawing_paragraph(d, pk_chart_heading(d->c, PK_CHANNEL_Y));
    for (size_t facet = 0; facet < d->facets.n_places; facet++) {
        if (*d->facets.places[facet] && drawn < MOST)
            pk_drawing_paragraph(d, d->facets.places[facet]);
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
