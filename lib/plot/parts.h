/* Parts: what the kinds of drawing share. Private to lib/plot. */
#pragma once

#include "plot/canvas.h"
#include "plot/plot.h"
#include "plot/scale.h"

/* The lines of a drawing of at most `width` columns, without line ends, in the arena. */
struct pk_plot_lines {
    const char **v;
    size_t n, cap;
};
struct pk_plot_screen {
    unsigned width; /* at least 40 */
    bool color, ascii;
};

/* A row of the chart. x and y are numbers, or the places of texts; NaN = none. */
struct pk_plot_row {
    double x, x2, y;
    size_t series, facet;
    size_t first; /* the first row of the same facet and x, or with marks across y */
    double below; /* the sum of y of those of its group before it */
    double sum;   /* of a first row: that of all of its group so far */
};

struct pk_drawing {
    const struct pk_chart *c;
    struct pk_arena *a;
    struct pk_plot_screen screen;
    struct pk_plot_lines *lines;
    struct pk_plot_row *rows;
    struct pk_plot_scale x, y, series, facets; /* ready; the last two are ordinal, with one place at least */
    struct pk_index groups;                    /* of rows: the first of each */
};

enum {
    PK_DRAWING_MAX = 40,       /* lines of bars and the like; more are left out */
    PK_DRAWING_LABEL_MAX = 40, /* columns of a label */
    PK_DRAWING_GAP = 2
};

/* The value of a channel in a row as people read it; "" where there is none. In the arena. */
const char *pk_drawing_text(const struct pk_drawing *d, size_t row, enum pk_channel channel);
/* The columns that a text takes. */
unsigned pk_drawing_width(const char *text);
/* A value with its interval, "4.89 (4.85 to 4.93)", or the label in its place. */
const char *pk_drawing_value(const struct pk_drawing *d, size_t row, enum pk_channel channel);
/* The widest of a channel, labels cut at their most; of its values with intervals. */
unsigned pk_drawing_label_width(const struct pk_drawing *d, enum pk_channel channel);
unsigned pk_drawing_value_width(const struct pk_drawing *d, enum pk_channel channel);
/* Whether y has a place for each text, below each other, and x goes across. */
bool pk_drawing_is_across(const struct pk_drawing *d);
/* What marks the points of a series, and the cells of its bars. */
const char *pk_drawing_mark(const struct pk_drawing *d, size_t series);
const char *pk_drawing_fill(const struct pk_drawing *d, size_t series);

void pk_drawing_line(struct pk_drawing *d, const char *line);
/* A text of any length, made safe and wrapped to the screen. */
void pk_drawing_paragraph(struct pk_drawing *d, const char *text);
void pk_drawing_canvas(struct pk_drawing *d, const struct pk_canvas *canvas);
/* The names of the series with what marks them, where there are several. */
void pk_drawing_legend(struct pk_drawing *d, const char *mark(const struct pk_drawing *d, size_t series));

/* gnuplot.c: what gnuplot makes of it: "svg", "png", "pdf", or characters for any other format. In the arena. */
enum pk_code pk_gnuplot(const struct pk_drawing *d, const char *format, char **bytes, size_t *n,
                        struct pk_err *err) PK_MUST_CHECK;

void pk_draw_panels(struct pk_drawing *d); /* lines.c: line, point, area */
void pk_draw_bars(struct pk_drawing *d);   /* bars.c: bar, stack */
void pk_draw_ranges(struct pk_drawing *d); /* across.c */
void pk_draw_spans(struct pk_drawing *d);
void pk_draw_cells(struct pk_drawing *d);
