/* Plot: from a chart to the lines of its drawing, and those to the output. */
#include "plot/plot.h"

#include "base/err.h"
#include "out/text.h"
#include "plot/parts.h"

#include <math.h>
#include <string.h>

static struct pk_plot_scale scale_of(const struct pk_chart *c, enum pk_channel channel)
{
    const enum pk_chart_scale kind = c->encoding.scale[channel];
    const bool ordinal = pk_chart_is_ordinal(c, channel);
    return (struct pk_plot_scale){ordinal ? PK_SCALE_ORDINAL : kind, INFINITY, -INFINITY};
}

/* A number, or the place of a text; NaN = none. */
static double value_of(const struct pk_drawing *d, size_t row, enum pk_channel channel,
                       struct pk_plot_scale *s)
{
    if (s->kind != PK_SCALE_ORDINAL)
        return pk_chart_number(d->c, row, channel);
    return pk_chart_cell(d->c, row, channel)->type == PK_CELL_NULL
               ? NAN
               : (double)pk_plot_place_of(s, pk_drawing_text(d, row, channel), d->a);
}

static bool is_of_group(const void *wanted, uint32_t row)
{
    const struct pk_drawing *d = wanted;
    const struct pk_plot_row *last = &d->rows[d->c->rows.n],
                             *r = &d->rows[row]; /* the one that is looked for */
    return r->facet == last->facet && (pk_drawing_is_across(d) ? r->y == last->y : r->x == last->x);
}

/* Rows of a group stand on each other, beside each other, or in one line. */
static void find_group(struct pk_drawing *d, size_t row)
{
    struct pk_plot_row *r = &d->rows[row];
    const double at = pk_drawing_is_across(d) ? r->y : r->x;
    d->rows[d->c->rows.n] = *r;
    r->first = pk_index_row(&d->groups, pk_hash(pk_hash_bytes(0, &at, sizeof at), r->facet), is_of_group, d,
                            (uint32_t)row);
    r->below = d->rows[r->first].sum;
    d->rows[r->first].sum += fmax(0, r->y);
}

static void read_row(struct pk_drawing *d, size_t row)
{
    const bool cells = d->c->encoding.mark == PK_MARK_CELLS; /* its colours are values */
    const char *series = cells ? "" : pk_drawing_text(d, row, PK_CHANNEL_COLOR);
    d->rows[row] = (struct pk_plot_row){
        .x = value_of(d, row, PK_CHANNEL_X, &d->x),
        .x2 = pk_chart_number(d->c, row, PK_CHANNEL_X2),
        .y = value_of(d, row, PK_CHANNEL_Y, &d->y),
        .series = pk_plot_place_of(&d->series, series, d->a),
        .facet = pk_plot_place_of(&d->facets, pk_drawing_text(d, row, PK_CHANNEL_FACET), d->a)};
    find_group(d, row);
}

/* All facets have the same axes. */
static void read_rows(struct pk_drawing *d)
{
    const enum pk_chart_mark mark = d->c->encoding.mark;
    const bool across = pk_drawing_is_across(d), stacked = mark == PK_MARK_AREA || mark == PK_MARK_STACK;
    d->rows = pk_new_n(d->a, struct pk_plot_row, d->c->rows.n + 1);
    for (size_t row = 0; row < d->c->rows.n; row++) {
        read_row(d, row);
        const struct pk_plot_row *r = &d->rows[row];
        pk_plot_take(&d->x, r->x);
        pk_plot_take(&d->x, r->x2);
        pk_plot_take(&d->y, stacked ? r->below : r->y);
        pk_plot_take(&d->y, stacked ? r->below + r->y : NAN);
        pk_plot_take(&d->y, pk_chart_number(d->c, row, PK_CHANNEL_FIT));
        for (enum pk_channel end = PK_CHANNEL_LOW; end <= PK_CHANNEL_HIGH; end++)
            pk_plot_take(across ? &d->x : &d->y, pk_chart_number(d->c, row, end));
    }
    pk_plot_take(across ? &d->x : &d->y, d->c->encoding.guide);
    const bool named = d->c->encoding.key[PK_CHANNEL_BAND] || d->c->encoding.key[PK_CHANNEL_RULE];
    const bool is_log = d->y.kind == PK_SCALE_LOG || d->y.kind == PK_SCALE_LOG2;
    if (named && !across) /* their texts stand above */
        pk_plot_take(&d->y,
                     is_log ? d->y.hi * pow(d->y.hi / d->y.lo, 0.15) : d->y.hi + 0.15 * (d->y.hi - d->y.lo));
}

static void (*const draw[PK_MARKS])(struct pk_drawing *d) = {
    [PK_MARK_LINE] = pk_draw_panels, [PK_MARK_POINT] = pk_draw_panels, [PK_MARK_AREA] = pk_draw_panels,
    [PK_MARK_BAR] = pk_draw_bars,    [PK_MARK_STACK] = pk_draw_bars,   [PK_MARK_RANGE] = pk_draw_ranges,
    [PK_MARK_SPAN] = pk_draw_spans,  [PK_MARK_CELLS] = pk_draw_cells,
};

static struct pk_drawing drawing_of(const struct pk_chart *c, const struct pk_plot_screen *screen,
                                    struct pk_plot_lines *lines, struct pk_arena *a)
{
    struct pk_drawing d = {.c = c, .a = a, .screen = *screen, .lines = lines, .groups = {.arena = a}};
    d.x = scale_of(c, PK_CHANNEL_X);
    d.y = scale_of(c, PK_CHANNEL_Y);
    d.series.kind = d.facets.kind = PK_SCALE_ORDINAL;
    read_rows(&d);
    pk_plot_ready(&d.x);
    pk_plot_ready(&d.y);
    return d;
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
        pk_drawing_line(d, pk_strndup(d->a, rest, line));
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
    if (!c->rows.n)
        return nothing_to_draw(out, err);
    struct pk_drawing d = drawing_of(c, &(struct pk_plot_screen){width, o->color, o->ascii}, &lines, &a);
    if (strcmp(o->plot, "terminal") == 0)
        draw[c->encoding.mark](&d);
    else if (draw_by_gnuplot(&d, out, err))
        return err->code;
    for (size_t i = 0; i < c->n_notes && lines.n; i++)
        pk_drawing_paragraph(&d, c->notes[i]);
    pk_out_drawing(out, c->title, lines.v, lines.n);
    return PK_OK;
}

enum pk_code pk_plot_first(struct pk_store *s, const char *text, const struct pk_param *params,
                           size_t n_params, struct pk_out *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_chart *c;
    size_t n = 1;
    if (pk_chart_first(s, text, params, n_params, &a, &c, err))
        return err->code;
    if (!c && pk_charts_read(s, NULL, "times", params, n_params, &a, &c, &n, err))
        return err->code;
    return n ? pk_plot_print(c, out, err) : nothing_to_draw(out, err);
}
