/* Gnuplot: the script of a chart, and the program that makes SVG, PNG, PDF or characters of it.
 *
 * A chart's rows are blocks of numbers in the script. Texts of the store stand in single quotes alone, in which gnuplot replaces nothing. */
#include "base/err.h"
#include "base/file.h"
#include "base/program/output.h"
#include "base/program/program.h"
#include "out/text.h"
#include "plot/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PANELS = 12, BESIDE = 2, HEIGHT = 320, LINES = 24, PER_NAME = 15, AROUND = 110 };
#define TIMEOUT_NS (60 * PK_NS_PER_S)

/* 'a text', of which what may change a terminal's state is replaced */
static const char *quoted(const struct pk_drawing *d, const char *text)
{
    struct pk_buf safe = {.arena = d->a}, b = {.arena = d->a};
    pk_text_safe(&safe, text);
    pk_buf_char(&b, '\'');
    for (const char *p = pk_buf_text(&safe); *p; p++)
        pk_buf_str(&b, *p == '\'' ? "''" : (char[]){*p, '\0'});
    pk_buf_char(&b, '\'');
    return pk_buf_text(&b);
}

static void put_number(struct pk_buf *b, double v)
{
    if (isfinite(v))
        pk_buf_printf(b, " %.17g", v);
    else
        pk_buf_str(b, " NaN");
}

/* Whether the marks are boxes. */
static bool fills(const struct pk_drawing *d)
{
    const enum pk_chart_mark mark = d->c->encoding.mark;
    return mark == PK_MARK_BAR || mark == PK_MARK_STACK || mark == PK_MARK_AREA || mark == PK_MARK_SPAN ||
           mark == PK_MARK_CELLS;
}

/* An axis of all panels. Logarithmic ones have the ticks that characters have, too: gnuplot's are powers of ten. */
static void put_axis(const struct pk_drawing *d, struct pk_buf *b, char axis, enum pk_channel channel)
{
    enum { TICKS = 8, CHARACTERS = 44 }; /* of the names below a panel */
    const struct pk_plot_scale *s = axis == 'x' ? &d->x : &d->y;
    const char *heading = pk_chart_heading(d->c, channel);
    const bool places = s->kind == PK_SCALE_ORDINAL;
    double ticks[PK_PLOT_TICKS];
    if (heading && !(places && axis == 'y'))
        pk_buf_printf(b, "set %clabel %s\n", axis, quoted(d, heading));
    if (s->kind == PK_SCALE_LINEAR) {
        const double beyond = 0.04 * (s->hi - s->lo), lo = axis == 'y' && fills(d) ? 0 : s->lo - beyond;
        pk_buf_printf(b, "set %crange [%.17g:%.17g]\n", axis, lo, s->hi + beyond);
        return;
    }
    pk_buf_printf(b, "set %ctics (", axis);
    const size_t n = places ? s->n_places : pk_plot_ticks(s, TICKS, ticks);
    unsigned characters = 0;
    for (size_t i = 0; i < n; i++) {
        const double at = places ? (double)i : ticks[i];
        const char *text = pk_plot_tick_text(s, at, d->a);
        pk_buf_printf(b, "%s%s %.17g", i ? ", " : "", quoted(d, text), at);
        characters += pk_drawing_width(text) + 2;
    }
    if (!places)
        pk_buf_printf(b, ")\nset logscale %c\nset %crange [%.17g:%.17g]\n", axis, axis, 0.9 * s->lo,
                      1.1 * s->hi);
    else if (axis == 'x')
        pk_buf_printf(b, ")\nset xtics %s\nset xrange [-0.7:%zu.7]\n",
                      characters > CHARACTERS ? "rotate by 35 right" : "norotate", n - 1);
    else
        pk_buf_printf(b, ")\nset yrange [%zu.7:-0.7]\n", n - 1); /* the first above */
}

struct box {
    double left, right, low, high;
};

static struct box box_of(const struct pk_drawing *d, size_t row)
{
    enum { HALF = 40, OF = 100 }; /* of the place of a text */
    const struct pk_plot_row *r = &d->rows[row];
    const double half = (double)HALF / OF, width = 2 * half / (double)d->series.n_places;
    const double left = r->x - half + (double)r->series * width;
    const double base = d->y.kind == PK_SCALE_LINEAR ? 0 : d->c->encoding.guide;
    switch (d->c->encoding.mark) {
    case PK_MARK_BAR:
        return (struct box){left, left + width, base, r->y};
    case PK_MARK_AREA:
        return (struct box){r->x, r->x2, r->below, r->below + r->y};
    case PK_MARK_SPAN:
        return (struct box){r->x, r->x2, r->y - half, r->y + half};
    case PK_MARK_CELLS:
        return (struct box){r->x - 0.5, r->x + 0.5, r->y - 0.5, r->y + 0.5};
    default:
        return (struct box){r->x - half, r->x + half, r->below, r->below + r->y};
    }
}

/* A block of numbers for each series of a facet: x, y, ends of the interval, fit, and its box with the value of its colour. */
static void put_data(const struct pk_drawing *d, struct pk_buf *b, size_t facet)
{
    for (size_t s = 0; s < d->series.n_places; s++) {
        pk_buf_printf(b, "$s%zu << EOD\n", s);
        for (size_t row = 0; row < d->c->rows.n; row++) {
            const struct pk_plot_row *r = &d->rows[row];
            const struct box box = box_of(d, row);
            if (r->series != s || r->facet != facet)
                continue;
            const double v[] = {r->x,
                                r->y,
                                pk_chart_number(d->c, row, PK_CHANNEL_LOW),
                                pk_chart_number(d->c, row, PK_CHANNEL_HIGH),
                                pk_chart_number(d->c, row, PK_CHANNEL_FIT),
                                (box.left + box.right) / 2,
                                box.left,
                                box.right,
                                box.low,
                                box.high,
                                pk_chart_number(d->c, row, PK_CHANNEL_COLOR)};
            for (size_t i = 0; i < sizeof v / sizeof *v; i++)
                put_number(b, v[i]);
            pk_buf_char(b, '\n');
        }
        pk_buf_str(b, " NaN NaN NaN NaN NaN NaN NaN NaN NaN NaN NaN\nEOD\n"); /* never empty */
    }
}

/* Lines across at x with their texts, and the texts of cells. */
static void put_texts(const struct pk_drawing *d, struct pk_buf *b, size_t facet)
{
    const char *last = "";
    pk_buf_str(b, "unset label\nunset arrow\n");
    for (size_t row = 0; row < d->c->rows.n; row++) {
        const struct pk_plot_row *r = &d->rows[row];
        const char *rule = pk_drawing_text(d, row, PK_CHANNEL_RULE),
                   *band = pk_drawing_text(d, row, PK_CHANNEL_BAND),
                   *label = pk_drawing_text(d, row, PK_CHANNEL_LABEL);
        if (r->facet == facet && strcmp(band, last) != 0)
            rule = last = band; /* a band begins */
        if (r->facet == facet && *rule && isfinite(r->x))
            pk_buf_printf(
                b,
                "set arrow from first %.17g, graph 0 to first %.17g, graph 1 nohead dt 2 front\n"
                "set label %s at first %.17g, graph 0.98 rotate right offset character -0.5, 0 front\n",
                r->x, r->x, quoted(d, rule), r->x);
        if (r->facet == facet && *label && d->c->encoding.mark == PK_MARK_CELLS)
            pk_buf_printf(b, "set label %s at first %.17g, %.17g center front\n", quoted(d, label), r->x,
                          r->y);
    }
    if (isfinite(d->c->encoding.guide) && d->c->encoding.mark == PK_MARK_RANGE)
        pk_buf_printf(b, "set arrow from %.17g, graph 0 to %.17g, graph 1 nohead dt 3\n",
                      d->c->encoding.guide, d->c->encoding.guide);
}

static void put_plots(const struct pk_drawing *d, struct pk_buf *b)
{
    const enum pk_chart_mark mark = d->c->encoding.mark;
    const char *as = mark == PK_MARK_CELLS   ? "using 6:10:7:8:9:10:11 with boxxyerror fc palette"
                     : fills(d)              ? "using 6:10:7:8:9:10 with boxxyerror"
                     : mark == PK_MARK_RANGE ? "using 1:2:3:4 with xerrorbars"
                     : mark == PK_MARK_LINE  ? "using 1:2 with linespoints"
                                             : "using 1:2 with points";
    const bool encoded = d->c->at[PK_CHANNEL_LOW] != (size_t)PK_CHART_NONE;
    const bool fit = d->c->at[PK_CHANNEL_FIT] != (size_t)PK_CHART_NONE;
    pk_buf_str(b, "plot ");
    for (size_t s = 0; s < d->series.n_places; s++) {
        const char *name =
            *d->series.places[s] ? pk_printf(d->a, "title %s", quoted(d, d->series.places[s])) : "notitle";
        pk_buf_printf(b, "%s$s%zu %s %s%s", s ? ", " : "", s, as,
                      mark == PK_MARK_CELLS ? "" : pk_printf(d->a, "lt %zu ", s + 1), name);
        if (encoded && (mark == PK_MARK_LINE || mark == PK_MARK_POINT))
            pk_buf_printf(b, ", $s%zu using 1:2:3:4 with yerrorbars lt %zu notitle", s, s + 1);
        if (encoded && mark == PK_MARK_BAR)
            pk_buf_printf(b, ", $s%zu using 6:2:3:4 with yerrorbars lt -1 pt 0 notitle", s);
        if (fit)
            pk_buf_printf(b, ", $s%zu using 1:5 with lines lt %zu dt 2 notitle", s, s + 1);
    }
    if (isfinite(d->c->encoding.guide) && mark != PK_MARK_RANGE && mark != PK_MARK_CELLS)
        pk_buf_printf(b, ", %.17g with lines lt -1 dt 3 notitle", d->c->encoding.guide);
    pk_buf_char(b, '\n');
}

static void put_terminal(const struct pk_drawing *d, struct pk_buf *b, const char *format, size_t bands)
{
    const size_t names = PER_NAME * d->y.n_places + AROUND;
    const unsigned height = (unsigned)((names > HEIGHT ? names : HEIGHT) * bands) + 60;
    if (!strcmp(format, "svg"))
        pk_buf_printf(b, "set term svg noenhanced size 960,%u background rgb 'white'\n", height);
    else if (!strcmp(format, "png"))
        pk_buf_printf(b, "set term pngcairo noenhanced size 960,%u\n", height);
    else if (!strcmp(format, "pdf"))
        pk_buf_printf(b, "set term pdfcairo noenhanced size 25cm,%.1fcm\n", height / 38.0);
    else
        pk_buf_printf(b, "set term dumb noenhanced nofeed size %u,%u\n", d->screen.width,
                      LINES * (unsigned)bands);
}

/* The whole script. */
static const char *script_of(const struct pk_drawing *d, const char *format)
{
    static const char *const colors[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                         "#56b4e9", "#d55e00", "#000000", "#999999"};
    const size_t n = d->facets.n_places < PANELS ? d->facets.n_places : PANELS;
    const size_t beside = n > 1 ? BESIDE : 1, bands = (n + beside - 1) / beside;
    struct pk_buf b = {.arena = d->a};
    pk_buf_str(&b, "set encoding utf8\n");
    put_terminal(d, &b, format, bands);
    for (size_t i = 0; i < sizeof colors / sizeof *colors; i++)
        pk_buf_printf(&b, "set linetype %zu lc rgb '%s' pt %zu lw 1.5\n", i + 1, colors[i], i + 5);
    pk_buf_str(&b, "set grid\nset key outside bottom center horizontal\n");
    pk_buf_printf(&b, "set style fill solid 0.8 %s\n",
                  d->c->encoding.mark == PK_MARK_AREA ? "noborder" : "border -1");
    put_axis(d, &b, 'x', PK_CHANNEL_X);
    put_axis(d, &b, 'y', PK_CHANNEL_Y);
    if (d->c->encoding.mark == PK_MARK_CELLS)
        pk_buf_str(&b, "set palette defined (0 '#f3f8fc', 1 '#62a6d8')\nunset colorbox\n");
    pk_buf_printf(&b, "set multiplot layout %zu,%zu title %s\n", bands, beside, quoted(d, d->c->title));
    for (size_t i = 0; i < n; i++) {
        put_data(d, &b, i);
        put_texts(d, &b, i);
        pk_buf_printf(&b, "set title %s\n", quoted(d, d->facets.places[i]));
        put_plots(d, &b);
    }
    pk_buf_str(&b, "unset multiplot\n");
    return pk_buf_text(&b);
}

bool pk_gnuplot_is_there(void)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    static const char *const argv[] = {"gnuplot", "--version", NULL};
    return pk_program_output(argv, TIMEOUT_NS, &a) != NULL;
}

/* Its standard output, from a file without a name. */
static enum pk_code run(const char *script, int in, int out, int errors, struct pk_err *err)
{
    static const char *const argv[] = {"gnuplot", "/dev/stdin", NULL}; /* of "-" it reads single bytes */
    struct pk_program program;
    char message[300] = "";
    const size_t n = strlen(script);
    if (write(in, script, n) != (ssize_t)n || lseek(in, 0, SEEK_SET) != 0)
        return pk_fail(err, PK_E_IO, "the script of gnuplot cannot be kept in memory: %s", strerror(errno));
    const int e =
        pk_program_start(&program, &(struct pk_program_setup){.argv = argv, .fd = {in, out, errors, -1}});
    if (e)
        return pk_fail(err, PK_E_UNAVAILABLE, "gnuplot cannot be started: %s", strerror(e));
    const bool ended = pk_program_ended(&program, pk_clock_ns() + TIMEOUT_NS, NULL);
    pk_program_end(&program, 0);
    if (ended && WIFEXITED(program.status) && !WEXITSTATUS(program.status))
        return PK_OK;
    const ssize_t got = pread(errors, message, sizeof message - 1, 0);
    message[got > 0 ? got : 0] = '\0';
    pk_fail(err, PK_E_IO, "gnuplot did not draw the chart");
    pk_why(err, "%s", !ended ? "it did not end" : *message ? message : "it gave no reason");
    return pk_fix(err, "--plot draws with characters, without gnuplot");
}

enum pk_code pk_gnuplot(const struct pk_drawing *d, const char *format, char **bytes, size_t *n,
                        struct pk_err *err)
{
    PK_CLEANUP_FD int in = memfd_create("script", MFD_CLOEXEC), out = memfd_create("drawing", MFD_CLOEXEC),
                      errors = memfd_create("errors", MFD_CLOEXEC);
    if (in < 0 || out < 0 || errors < 0)
        return pk_fail(err, PK_E_IO, "no file in memory for gnuplot: %s", strerror(errno));
    if (run(script_of(d, format), in, out, errors, err))
        return err->code;
    const off_t size = lseek(out, 0, SEEK_END);
    *n = size > 0 ? (size_t)size : 0;
    *bytes = pk_new_n(d->a, char, *n + 1);
    return pread(out, *bytes, *n, 0) == (ssize_t)*n ? PK_OK
                                                    : pk_fail(err, PK_E_IO, "the drawing cannot be read");
}
