/* Drawing: what the kinds of drawing share: texts of rows with their widths, marks and fills of series, the legend. */
#include "plot/parts.h"

#include "out/layout.h"
#include "out/text.h"

#include <string.h>

#define COUNT(v) (sizeof(v) / sizeof *(v))

const char *pk_drawing_text(const struct pk_drawing *d, size_t row, enum pk_channel channel)
{
    struct pk_buf b = {.arena = d->a};
    if (d->c->at[channel] != (size_t)PK_CHART_NONE)
        pk_text_cell(&b, &d->c->columns[d->c->at[channel]], pk_chart_cell(d->c, row, channel));
    return pk_buf_text(&b);
}

unsigned pk_drawing_width(const char *text)
{
    return (unsigned)pk_screen_width(text, strlen(text));
}

unsigned pk_drawing_label_width(const struct pk_drawing *d, enum pk_channel channel)
{
    unsigned most = 0;
    for (size_t row = 0; row < d->c->rows.n; row++) {
        const unsigned width = pk_drawing_width(pk_drawing_text(d, row, channel));
        most = width > most ? width : most;
    }
    return most < PK_DRAWING_LABEL_MAX ? most : PK_DRAWING_LABEL_MAX;
}

const char *pk_drawing_value(const struct pk_drawing *d, size_t row, enum pk_channel channel)
{
    const char *value = pk_drawing_text(d, row, channel), *low = pk_drawing_text(d, row, PK_CHANNEL_LOW);
    const char *label = pk_drawing_text(d, row, PK_CHANNEL_LABEL);
    if (!*value)
        return label;
    const char *interval =
        *low ? pk_printf(d->a, " (%s to %s)", low, pk_drawing_text(d, row, PK_CHANNEL_HIGH)) : "";
    return pk_printf(d->a, "%s%s%s%s", value, interval, *label ? "  " : "", label);
}

unsigned pk_drawing_value_width(const struct pk_drawing *d, enum pk_channel channel)
{
    unsigned most = 0;
    for (size_t row = 0; row < d->c->rows.n; row++) {
        const unsigned width = pk_drawing_width(pk_drawing_value(d, row, channel));
        most = width > most ? width : most;
    }
    return most;
}

bool pk_drawing_is_across(const struct pk_drawing *d)
{
    const enum pk_chart_mark mark = d->c->encoding.mark;
    return mark == PK_MARK_RANGE || mark == PK_MARK_SPAN || mark == PK_MARK_CELLS;
}

const char *pk_drawing_mark(const struct pk_drawing *d, size_t series)
{
    static const char *const marks[] = {"●", "○", "▲", "△", "■", "□", "◆", "◇"};
    static const char *const ascii[] = {"*", "o", "x", "+", "#", "@", "%", "&"};
    return (d->screen.ascii ? ascii : marks)[series % COUNT(marks)];
}

const char *pk_drawing_fill(const struct pk_drawing *d, size_t series)
{
    static const char *const fills[] = {"█", "▒", "▓", "░", "▚", "▤", "▥", "▦"};
    static const char *const ascii[] = {"#", "=", "%", "-", "+", ":", "o", "."};
    return (d->screen.ascii ? ascii : fills)[series % COUNT(fills)];
}

void pk_drawing_line(struct pk_drawing *d, const char *line)
{
    struct pk_plot_lines *l = d->lines;
    l->v = pk_grow(d->a, l->v, sizeof *l->v, l->n, &l->cap);
    l->v[l->n++] = line;
}

void pk_drawing_paragraph(struct pk_drawing *d, const char *text)
{
    struct pk_buf b = {.arena = d->a};
    pk_text_safe(&b, text);
    for (const char *rest = pk_buf_text(&b), *line = rest; rest; line = rest)
        pk_drawing_line(d, pk_strndup(d->a, line, pk_wrap(line, d->screen.width, &rest)));
}

void pk_drawing_canvas(struct pk_drawing *d, const struct pk_canvas *canvas)
{
    for (unsigned row = 0; row < canvas->rows; row++)
        pk_drawing_line(d, pk_canvas_row(canvas, row, d->screen.color, d->a));
}

void pk_drawing_legend(struct pk_drawing *d, const char *mark(const struct pk_drawing *d, size_t series))
{
    enum { GAP = 3, LINES = 4 };
    struct pk_canvas canvas = pk_canvas_make(d->screen.width, LINES, d->screen.ascii, d->a);
    unsigned col = 0, row = 0;
    if (d->series.n_places < 2)
        return;
    for (size_t i = 0; i < d->series.n_places && row < LINES; i++) {
        if (!*d->series.places[i]) /* of rows that are lines across */
            continue;
        const char *name = pk_printf(d->a, "%s %s", mark(d, i), d->series.places[i]);
        struct pk_canvas none = {0};
        const unsigned width = pk_canvas_text(&none, 0, 0, name, 0);
        if (col && col + width > d->screen.width)
            col = 0, row++;
        col += pk_canvas_text(&canvas, (int)col, (int)row, name, (unsigned)i + 1) + GAP;
    }
    canvas.rows = row < LINES ? row + 1 : LINES;
    pk_drawing_canvas(d, &canvas);
}
