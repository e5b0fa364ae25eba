/* Plot: from a chart to the lines of its drawing, and those to the output. */
#include "plot/plot.h"

#include "base/err.h"
#include "out/layout.h"
#include "out/text.h"
#include "plot/parts.h"

#include <math.h>
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

static void add_line(struct pk_plot_lines *l, const char *line, struct pk_arena *a)
{
    l->v = pk_grow(a, l->v, sizeof *l->v, l->n, &l->cap);
    l->v[l->n++] = line;
}

void pk_drawing_line(struct pk_drawing *d, const char *line)
{
    add_line(d->lines, line, d->a);
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

static struct pk_plot_scale scale_of(const struct pk_chart *c, enum pk_channel channel)
{
    const enum pk_chart_scale kind = c->encoding.scale[channel];
    const bool ordinal = pk_chart_is_ordinal(c, channel);
    return (struct pk_plot_scale){ordinal ? PK_SCALE_ORDINAL : kind, INFINITY, -INFINITY};
}

/* A number, or the place of a text. */
static double value_of(const struct pk_drawing *d, size_t row, enum pk_channel channel,
                       struct pk_plot_scale *s)
{
    return s->kind == PK_SCALE_ORDINAL ? (double)pk_plot_place_of(s, pk_drawing_text(d, row, channel), d->a)
                                       : pk_chart_number(d->c, row, channel);
}

static void read_row(struct pk_drawing *d, size_t row)
{
    struct pk_drawn *r = &d->rows[row];
    *r = (struct pk_drawn){
        .x = value_of(d, row, PK_CHANNEL_X, &d->x),
        .y = value_of(d, row, PK_CHANNEL_Y, &d->y),
        .series = pk_plot_place_of(&d->series, pk_drawing_text(d, row, PK_CHANNEL_COLOR), d->a),
        .facet = pk_plot_place_of(&d->facets, pk_drawing_text(d, row, PK_CHANNEL_FACET), d->a),
        .first = row};
    const bool bars = d->c->encoding.mark == PK_MARK_BAR || d->c->encoding.mark == PK_MARK_STACK;
    for (size_t i = 0; bars && i < row; i++)
        if (d->rows[i].x == r->x && d->rows[i].facet == r->facet) {
            r->first = d->rows[i].first;
            r->below += fmax(0, d->rows[i].y);
        }
}

/* All facets have the same axes. */
static void read_rows(struct pk_drawing *d)
{
    const bool across = d->c->encoding.mark == PK_MARK_RANGE;
    d->rows = pk_new_n(d->a, struct pk_drawn, d->c->rows.n + 1);
    for (size_t row = 0; row < d->c->rows.n; row++) {
        read_row(d, row);
        pk_plot_take(&d->x, d->rows[row].x);
        pk_plot_take(&d->y, d->rows[row].y);
        pk_plot_take(&d->y, pk_chart_number(d->c, row, PK_CHANNEL_FIT));
        for (enum pk_channel end = PK_CHANNEL_LOW; end <= PK_CHANNEL_HIGH; end++)
            pk_plot_take(across ? &d->x : &d->y, pk_chart_number(d->c, row, end));
    }
    pk_plot_take(across ? &d->x : &d->y, d->c->encoding.guide);
}

static void (*const draw[PK_MARKS])(struct pk_drawing *d) = {
    [PK_MARK_LINE] = pk_draw_points, [PK_MARK_POINT] = pk_draw_points, [PK_MARK_BAR] = pk_draw_bars,
    [PK_MARK_STACK] = pk_draw_bars,  [PK_MARK_RANGE] = pk_draw_ranges,
};

static struct pk_drawing drawing_of(const struct pk_chart *c, const struct pk_plot_screen *screen,
                                    struct pk_plot_lines *lines, struct pk_arena *a)
{
    struct pk_drawing d = {.c = c, .a = a, .screen = *screen, .lines = lines};
    d.x = scale_of(c, PK_CHANNEL_X);
    d.y = scale_of(c, PK_CHANNEL_Y);
    d.series.kind = d.facets.kind = PK_SCALE_ORDINAL;
    read_rows(&d);
    pk_plot_ready(&d.x);
    pk_plot_ready(&d.y);
    return d;
}

void pk_plot_draw(const struct pk_chart *c, const struct pk_plot_screen *screen, struct pk_arena *a,
                  struct pk_plot_lines *lines)
{
    struct pk_drawing d = drawing_of(c, screen, lines, a);
    if (draw[c->encoding.mark] && c->rows.n)
        draw[c->encoding.mark](&d);
}

static void add_note(const char *note, unsigned width, struct pk_arena *a, struct pk_plot_lines *lines)
{
    struct pk_buf b = {.arena = a};
    pk_text_safe(&b, note);
    for (const char *rest = pk_buf_text(&b), *line = rest; rest; line = rest)
        add_line(lines, pk_strndup(a, line, pk_wrap(line, width, &rest)), a);
}

/* By gnuplot: the file, or the lines of its characters. */
static enum pk_code draw_by_gnuplot(struct pk_drawing *d, struct pk_out *out, struct pk_err *err)
{
    char *bytes;
    size_t n;
    if (pk_gnuplot(d, pk_out_options(out)->plot, &bytes, &n, err))
        return err->code;
    if (pk_out_lists(out))
        pk_out_bytes(out, bytes, n);
    for (const char *rest = bytes; !pk_out_lists(out) && *rest;) {
        const size_t line = strcspn(rest, "\n");
        add_line(d->lines, pk_strndup(d->a, rest, line), d->a);
        rest += line + (rest[line] == '\n');
    }
    return PK_OK;
}

/* An error where a file was to be drawn. */
static enum pk_code nothing_to_draw(struct pk_out *out, struct pk_err *err)
{
    static const char *const line[] = {"Nothing to draw: what was measured has no chart for a terminal."};
    if (!pk_out_lists(out)) {
        pk_out_drawing(out, "", line, 1);
        return PK_OK;
    }
    pk_fail(err, PK_E_NOTHING, "there is no chart to draw");
    pk_why(err, "nothing that was measured has one that can be drawn this way");
    return pk_fix(err, "perfkit report draws every chart on a page");
}

enum pk_code pk_plot_print(const struct pk_chart *c, struct pk_out *out, struct pk_err *err)
{
    enum { WIDTH = 100, LEAST = 40 };
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_plot_lines lines = {0};
    const struct pk_out_options *o = pk_out_options(out);
    const unsigned width = !o->width ? WIDTH : o->width < LEAST ? LEAST : o->width;
    if (!draw[c->encoding.mark] || !c->rows.n)
        return nothing_to_draw(out, err);
    struct pk_drawing d = drawing_of(c, &(struct pk_plot_screen){width, o->color, o->ascii}, &lines, &a);
    if (strcmp(o->plot, "terminal") == 0)
        draw[c->encoding.mark](&d);
    else if (draw_by_gnuplot(&d, out, err))
        return err->code;
    for (size_t i = 0; i < c->n_notes && lines.n; i++)
        add_note(c->notes[i], width, &a, &lines);
    pk_out_drawing(out, c->title, lines.v, lines.n);
    return PK_OK;
}

enum pk_code pk_plot_first(struct pk_store *s, const char *text, const struct pk_param *params,
                           size_t n_params, struct pk_out *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_chart *v;
    size_t n, i = 0;
    if (pk_charts_read(s, text, NULL, params, n_params, &a, &v, &n, err))
        return err->code;
    while (i < n && !draw[v[i].encoding.mark])
        i++;
    return i < n ? pk_plot_print(&v[i], out, err) : nothing_to_draw(out, err);
}
