/* Plot: where points, bars and intervals stand, in characters; that no line is wider than the screen, and that no value breaks a drawing. */
#include "plot/plot.h"
#include "plot/scale.h"

#include "out/layout.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define T(f) cmocka_unit_test(f)

enum { X, Y, LOW, HIGH, SERIES, LABEL, COLUMNS };

static const char *const names[] = {"x", "y", "low", "high", "series", "label"};
static const struct pk_column columns[COLUMNS] = {
    {.key = "x", .heading = "Length", .decimals = -1},
    {.key = "y", .heading = "Time (ms)", .scale = 1e6, .decimals = 1},
    {.key = "low", .heading = "From", .scale = 1e6, .decimals = 1},
    {.key = "high", .heading = "To", .scale = 1e6, .decimals = 1},
    {.key = "series", .heading = "Variant", .left = true, .decimals = -1},
    {.key = "label", .heading = "Label", .left = true, .decimals = -1},
};

/* x, y in ms (NaN = none), half of the interval, series, label */
static void put(struct pk_cell *to, double x, double y, double half, const char *series, const char *label)
{
    const struct pk_cell none = {0};
    to[X] = pk_cell_real(x);
    to[Y] = isnan(y) ? none : pk_cell_real(y * 1e6);
    to[LOW] = half > 0 ? pk_cell_real((y - half) * 1e6) : none;
    to[HIGH] = half > 0 ? pk_cell_real((y + half) * 1e6) : none;
    to[SERIES] = pk_cell_text(series);
    to[LABEL] = label ? pk_cell_text(label) : none;
}

static struct pk_chart chart_of(enum pk_chart_mark mark, const struct pk_cell *cells, size_t n)
{
    struct pk_chart c = {.name = "c",
                         .title = "Chart",
                         .encoding = {.mark = mark,
                                      .key = {[PK_CHANNEL_X] = "x",
                                              [PK_CHANNEL_Y] = "y",
                                              [PK_CHANNEL_LOW] = "low",
                                              [PK_CHANNEL_HIGH] = "high",
                                              [PK_CHANNEL_COLOR] = "series",
                                              [PK_CHANNEL_LABEL] = "label"},
                                      .guide = NAN},
                         .columns = columns,
                         .rows = {n, COLUMNS, names, cells}};
    struct pk_err err;
    assert_int_equal(pk_chart_columns(&c, &err), PK_OK);
    return c;
}

/* What is printed of a chart below its title. */
struct lines {
    const char *v[200];
    size_t n;
};

static struct lines drawn(const struct pk_chart *c, unsigned width, bool color, bool ascii,
                          struct pk_arena *a)
{
    const struct pk_out_options options = {
        .format = PK_FMT_TABLE, .width = width, .color = color, .ascii = ascii, .plot = "terminal"};
    struct lines lines = {.n = 0};
    struct pk_err err;
    char *text;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    struct pk_out *out = pk_out_open(f, &options);
    assert_int_equal(pk_plot_print(c, out, &err), PK_OK);
    assert_int_equal(pk_out_close(out, &err), PK_OK);
    fclose(f);
    assert_non_null(strstr(text, "Chart"));
    for (const char *rest = strchr(text, '\n') + 1; *rest;
         rest += strcspn(rest, "\n"), rest += *rest == '\n') {
        assert_true(lines.n < sizeof lines.v / sizeof *lines.v);
        lines.v[lines.n++] = pk_strndup(a, rest, strcspn(rest, "\n"));
    }
    free(text);
    for (size_t i = 0; i < lines.n && !color; i++)
        assert_true(pk_screen_width(lines.v[i], strlen(lines.v[i])) <= width);
    return lines;
}

/* The number of the line with a text from line `from` on; fails where there is none. */
static size_t line_with(const struct lines *l, const char *text, size_t from)
{
    size_t i = from;
    while (i < l->n && !strstr(l->v[i], text))
        i++;
    assert_true(i < l->n);
    return i;
}

static void points_stand_where_logarithms_put_them(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_cell cells[6 * COLUMNS];
    for (size_t i = 0; i < 3; i++) {
        put(&cells[i * COLUMNS], 256 << i, pow(10, (double)i), 0, "vanilla", NULL);
        put(&cells[(3 + i) * COLUMNS], 256 << i, i < 2 ? 1 : NAN, 0, "flash", i < 2 ? NULL : "OOM");
    }
    struct pk_chart c = chart_of(PK_MARK_POINT, cells, 6);
    c.encoding.scale[PK_CHANNEL_X] = PK_SCALE_LOG2;
    c.encoding.scale[PK_CHANNEL_Y] = PK_SCALE_LOG;
    struct lines l = drawn(&c, 60, false, true, &a);
    const size_t top = line_with(&l, "     100 +", 0), middle = line_with(&l, "      10 +", top),
                 bottom = line_with(&l, "       1 +", middle);
    assert_in_range(middle - top, (bottom - top) / 2, (bottom - top + 1) / 2);
    assert_non_null(
        strstr(l.v[top], "flash OOM")); /* at the upper edge, where the point of vanilla is, too */
    assert_int_equal(strchr(l.v[middle], '*') - l.v[middle], 10 + 23);
    assert_non_null(strchr(l.v[bottom], 'o'));
    assert_non_null(strstr(l.v[line_with(&l, "256", bottom)], "512"));
    assert_non_null(strstr(l.v[line_with(&l, "* vanilla", bottom)], "o flash"));
}

static void an_interval_is_a_line_of_dots_and_a_line_joins_points(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_cell cells[2 * COLUMNS];
    put(cells, 1, 5, 4, "one", NULL);
    put(&cells[COLUMNS], 2, 5, 0, "one", NULL);
    struct pk_chart c = chart_of(PK_MARK_POINT, cells, 2);
    size_t dots[2] = {0};
    for (size_t k = 0; k < 2; k++) {
        c.encoding.mark = k ? PK_MARK_LINE : PK_MARK_POINT;
        struct lines l = drawn(&c, 60, false, true, &a);
        for (size_t i = 0; i < l.n; i++)
            for (const char *at = l.v[i]; (at = strchr(at, '.')); at++)
                dots[k]++;
    }
    assert_in_range(dots[0], 10, 14); /* the rows of the panel except for the mark */
    assert_in_range(dots[1], 50, 70);
}

static void the_longest_bar_fills_and_values_stand_behind(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_cell cells[3 * COLUMNS];
    put(cells, 1, 40, 1, "a", NULL);
    put(&cells[COLUMNS], 1, 20, 0, "b", NULL);
    put(&cells[2 * COLUMNS], 2, NAN, 0, "a", "OOM");
    struct pk_chart c = chart_of(PK_MARK_BAR, cells, 3);
    struct lines l = drawn(&c, 70, false, true, &a);
    const char *longest = l.v[line_with(&l, "40.0 (39.0 to 41.0)", 0)], *half = l.v[line_with(&l, "20.0", 0)];
    const size_t full = strspn(strchr(longest, '#'), "#"), part = strspn(strchr(half, '='), "=");
    assert_in_range(2 * part, full - 1, full + 1);
    assert_null(strpbrk(l.v[line_with(&l, "OOM", 0)], "#="));
    c.encoding.mark = PK_MARK_STACK;
    l = drawn(&c, 70, false, true, &a);
    const char *stack = l.v[line_with(&l, "60", 0)];
    assert_in_range(strspn(strchr(stack, '#'), "#"), 2 * strspn(strchr(stack, '='), "=") - 2,
                    2 * strspn(strchr(stack, '='), "=") + 2);
}

static void areas_stand_on_each_other_and_the_largest_moment_is_seen(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    enum { MOMENTS = 300 }; /* several in a column of the screen */
    static struct pk_cell cells[2 * MOMENTS * COLUMNS];
    for (size_t i = 0; i < 2 * MOMENTS; i++) {
        const double x = (double)(i / 2);
        put(&cells[i * COLUMNS], x, i / 2 == 100 ? 30 : 10, 0, i % 2 ? "upper" : "lower",
            x < 150 ? "forward" : "backward");
        cells[i * COLUMNS + LOW] = pk_cell_real((x + 1) * 1e6);
    }
    struct pk_chart c = chart_of(PK_MARK_AREA, cells, 2 * MOMENTS);
    c.at[PK_CHANNEL_X2] = LOW;
    c.at[PK_CHANNEL_BAND] = LABEL;
    c.encoding.key[PK_CHANNEL_BAND] = "label";
    c.at[PK_CHANNEL_LOW] = c.at[PK_CHANNEL_HIGH] = c.at[PK_CHANNEL_LABEL] = (size_t)PK_CHART_NONE;
    struct lines l = drawn(&c, 60, false, true, &a);
    const size_t bands = line_with(&l, "forward", 0), bottom = line_with(&l, "# lower   = upper", bands) - 4;
    assert_non_null(strstr(l.v[bands + 1], "backward"));
    assert_in_range(strspn(strchr(l.v[bottom], '#'), "#"), 44,
                    49); /* of 48 columns, except for the lines between bands */
    size_t peak = 0;
    for (size_t i = bands; i <= bottom; i++)
        peak += strchr(l.v[i], '=') != NULL || strchr(l.v[i], '#') != NULL;
    assert_in_range(peak, 12, 13); /* 60 of the 69 that the axis has */
}

static void a_timeline_has_a_line_for_each_place(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_cell cells[4 * COLUMNS];
    for (size_t i = 0; i < 4; i++) { /* from LOW to HIGH, in line x */
        put(&cells[i * COLUMNS], (double)(i / 2), 50 + 20 * (double)(i % 2), 10, i % 2 ? "sent" : "waits",
            NULL);
        cells[i * COLUMNS + Y] = (struct pk_cell){0};
    }
    cells[3 * COLUMNS + X] = (struct pk_cell){0}; /* a line across alone */
    cells[3 * COLUMNS + LABEL] = pk_cell_text("ends");
    struct pk_chart c = chart_of(PK_MARK_SPAN, cells, 4);
    c.at[PK_CHANNEL_X] = LOW;
    c.at[PK_CHANNEL_X2] = HIGH;
    c.at[PK_CHANNEL_Y] = X;
    c.at[PK_CHANNEL_RULE] = LABEL;
    c.at[PK_CHANNEL_LOW] = c.at[PK_CHANNEL_HIGH] = c.at[PK_CHANNEL_LABEL] = (size_t)PK_CHART_NONE;
    struct lines l = drawn(&c, 53, false, true, &a);
    assert_string_equal(l.v[1], "0  #########################|=======================");
    assert_int_equal(strchr(l.v[line_with(&l, "ends", 0)], '|') - l.v[0], strchr(l.v[2], '|') - l.v[2]);
    assert_null(strchr(l.v[2], '=')); /* the second line has no second part */
}

static void a_heat_map_has_shades_and_texts(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_cell cells[4 * COLUMNS];
    for (size_t i = 0; i < 4; i++)
        put(&cells[i * COLUMNS], (double)(256 << i % 2), i < 3 ? pow(10, (double)i) : NAN, 0,
            i < 2 ? "64" : "16", i < 3 ? NULL : "OOM");
    struct pk_chart c = chart_of(PK_MARK_CELLS, cells, 4);
    c.encoding.scale[PK_CHANNEL_COLOR] = PK_SCALE_LOG;
    c.at[PK_CHANNEL_COLOR] = Y;
    c.at[PK_CHANNEL_Y] = SERIES;
    struct lines l = drawn(&c, 60, false, true, &a);
    assert_string_equal(l.v[line_with(&l, "64 ", 0)], "64  . 1.0    = 10.0");
    assert_string_equal(l.v[line_with(&l, "16 ", 0)], "16  # 100.0    OOM");
}

static void an_interval_around_the_guide_crosses_it(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_cell cells[2 * COLUMNS];
    put(cells, 7, 1.0, 0.5, "same", NULL);
    put(&cells[COLUMNS], 8, 3.0, 0.5, "slower", NULL);
    struct pk_chart c = chart_of(PK_MARK_RANGE, cells, 2);
    c.at[PK_CHANNEL_X] = Y;
    c.at[PK_CHANNEL_Y] = X;
    c.encoding.guide = 1;
    struct lines l = drawn(&c, 70, false, true, &a);
    const char *same = l.v[line_with(&l, "1.0 (0.5 to 1.5)", 0)], *slower = l.v[line_with(&l, "3.0 (2.5", 0)];
    assert_true(strchr(same, '*') - same == strchr(slower, '|') - slower); /* its point hides the guide */
    assert_true(strchr(slower, '-') > strchr(slower, '|'));
}

static void colours_come_only_where_they_are_wanted(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_cell cells[2 * COLUMNS];
    put(cells, 1, 1, 0, "a\x1b[31m", NULL);
    put(&cells[COLUMNS], 2, 2, 0, "b", NULL);
    struct pk_chart c = chart_of(PK_MARK_LINE, cells, 2);
    for (int color = 0; color < 2; color++) {
        struct lines l = drawn(&c, 60, color, false, &a);
        bool escapes = false;
        for (size_t i = 0; i < l.n; i++) {
            escapes |= strchr(l.v[i], '\x1b') != NULL;
            assert_null(strstr(l.v[i], "a\x1b[31m")); /* of the name */
        }
        assert_int_equal(escapes, color);
    }
}

static void no_value_breaks_a_drawing(void **state)
{
    static const double hostile[] = {NAN, INFINITY, -INFINITY, 0, -1, 1e300, 1e-300, 5};
    enum { VALUES = sizeof hostile / sizeof *hostile };
    struct pk_cell cells[VALUES * VALUES * COLUMNS];
    for (size_t i = 0; i < VALUES * VALUES; i++)
        put(&cells[i * COLUMNS], hostile[i % VALUES], hostile[i / VALUES], hostile[(i + 3) % VALUES],
            i % 3 ? "a" : "", i % 5 ? NULL : "x");
    for (enum pk_chart_mark mark = 0; mark < PK_MARKS; mark++)
        for (enum pk_chart_scale scale = 0; scale < PK_SCALES; scale++)
            for (size_t n = 1; n <= VALUES * VALUES; n += 7) {
                PK_ARENA_CLEANUP struct pk_arena a = {0};
                struct pk_chart c = chart_of(mark, cells, n);
                c.encoding.scale[PK_CHANNEL_X] = c.encoding.scale[PK_CHANNEL_Y] = scale;
                c.encoding.scale[PK_CHANNEL_COLOR] = scale;
                c.at[PK_CHANNEL_X2] = HIGH;
                c.at[PK_CHANNEL_RULE] = LABEL;
                c.at[PK_CHANNEL_BAND] = SERIES;
                c.encoding.key[PK_CHANNEL_RULE] = n % 2 ? "label" : NULL;
                drawn(&c, 40, false, false, &a);
            }
}

static void ticks_are_round_and_few(void **state)
{
    double t[PK_PLOT_TICKS];
    const struct pk_plot_scale logarithmic = {PK_SCALE_LOG, 0.3, 2000},
                               doubling = {PK_SCALE_LOG2, 256, 16384}, linear = {PK_SCALE_LINEAR, 0, 73},
                               narrow = {PK_SCALE_LOG, 40, 45};
    assert_int_equal(pk_plot_ticks(&logarithmic, 4, t), 4);
    assert_true(t[0] == 1 && t[3] == 1000);
    assert_int_equal(pk_plot_ticks(&doubling, 16, t), 7);
    assert_true(t[0] == 256 && t[6] == 16384);
    assert_int_equal(pk_plot_ticks(&linear, 5, t), 4);
    assert_true(t[1] == 20 && t[3] == 60);
    assert_int_equal(pk_plot_ticks(&narrow, 4, t), 3); /* no round factor is between its ends */
    assert_true(t[0] == 40 && t[2] == 44);
    assert_int_equal(pk_plot_ticks(&narrow, 2, t), 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        T(points_stand_where_logarithms_put_them),
        T(an_interval_is_a_line_of_dots_and_a_line_joins_points),
        T(the_longest_bar_fills_and_values_stand_behind),
        T(areas_stand_on_each_other_and_the_largest_moment_is_seen),
        T(a_timeline_has_a_line_for_each_place),
        T(a_heat_map_has_shades_and_texts),
        T(an_interval_around_the_guide_crosses_it),
        T(colours_come_only_where_they_are_wanted),
        T(no_value_breaks_a_drawing),
        T(ticks_are_round_and_few),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
