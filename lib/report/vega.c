/* Vega: the layers of each mark, and the channels of all. */
#include "report/parts.h"

#include "out/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FACET = 200, TALL = 260, ALONE = 280 }; /* heights in pixels; tall has upright texts */

static const char *const fields[PK_CHANNELS] = {"x", "x2", "y", "lo", "hi", "c", "f", "fit", "t", "r", "b"};

/* --- data --- */

/* The channel whose axis a value stands on. */
static enum pk_channel axis_channel(const struct pk_chart *c, enum pk_channel channel)
{
    if (channel == PK_CHANNEL_FIT || channel == PK_CHANNEL_LOW || channel == PK_CHANNEL_HIGH)
        return c->encoding.mark == PK_MARK_RANGE ? PK_CHANNEL_X : PK_CHANNEL_Y;
    return channel == PK_CHANNEL_X2 ? PK_CHANNEL_X : channel;
}

static json_t *value_of(const struct pk_chart *c, size_t row, enum pk_channel channel)
{
    enum { LONGEST = 200 };
    const struct pk_cell *cell = pk_chart_cell(c, row, channel);
    const double number = pk_chart_number(c, row, channel);
    const enum pk_chart_scale scale = c->encoding.scale[axis_channel(c, channel)];
    const bool is_log = scale == PK_SCALE_LOG || scale == PK_SCALE_LOG2;
    if (cell->type == PK_CELL_TEXT) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        struct pk_buf b = {.arena = &a};
        pk_text_safe(&b, cell->s);
        const char *text = pk_buf_text(&b);
        size_t n = strlen(text) > LONGEST ? LONGEST : strlen(text);
        while (n && n == LONGEST && ((unsigned char)text[n] & 0xc0) == 0x80) /* not within a character */
            n--;
        return json_stringn(text, n);
    }
    if (cell->type == PK_CELL_INT && number == (double)cell->i)
        return is_log && cell->i <= 0 ? json_null() : json_integer(cell->i);
    return is_log && !(number > 0) ? json_null() : pk_json_real(number);
}

/* Rows evenly chosen from all; a rule is never left out. */
static json_t *values_of(const struct pk_chart *c, size_t *drawn)
{
    json_t *values = json_array();
    const size_t n = c->rows.n, most = n < PK_PAGE_DRAWN ? n : PK_PAGE_DRAWN;
    for (size_t at = 0, i = 0; at < n; at++) {
        const bool chosen = at == i * n / most;
        i += chosen;
        if (!chosen && (!c->encoding.key[PK_CHANNEL_RULE] ||
                        pk_chart_cell(c, at, PK_CHANNEL_RULE)->type == PK_CELL_NULL))
            continue;
        json_t *row = json_object();
        for (size_t k = 0; k < PK_CHANNELS; k++)
            if (c->encoding.key[k])
                json_object_set_new(row, fields[k], value_of(c, at, (enum pk_channel)k));
        json_array_append_new(values, row);
    }
    *drawn = json_array_size(values);
    return json_pack("{s:o}", "values", values);
}

/* The values of a channel, each once, in the order of the rows; NULL when there are more than `most`. */
static json_t *distinct(const struct pk_chart *c, enum pk_channel channel, size_t most)
{
    json_t *list = json_array();
    for (size_t row = 0; row < c->rows.n && json_array_size(list) <= most; row++) {
        json_t *value = value_of(c, row, channel);
        size_t i = 0;
        while (i < json_array_size(list) && !json_equal(json_array_get(list, i), value))
            i++;
        if (i == json_array_size(list) && !json_is_null(value))
            json_array_append(list, value);
        json_decref(value);
    }
    if (json_array_size(list) <= most)
        return list;
    json_decref(list);
    return NULL;
}

/* How many values that are not NULL a channel has. */
static size_t places(const struct pk_chart *c, enum pk_channel channel)
{
    json_t *list = distinct(c, channel, c->rows.n);
    const size_t n = json_array_size(list);
    json_decref(list);
    return n;
}

static bool has(const struct pk_chart *c, enum pk_channel channel)
{
    return c->encoding.key[channel] != NULL;
}

/* Whether a row has a value in a channel. */
static bool has_values(const struct pk_chart *c, enum pk_channel channel)
{
    for (size_t row = 0; row < c->rows.n; row++) {
        const struct pk_cell *cell = pk_chart_cell(c, row, channel);
        if (cell->type != PK_CELL_NULL && !(cell->type == PK_CELL_REAL && isnan(cell->f)))
            return true;
    }
    return false;
}

struct value_extent {
    double least, most; /* NaN = nothing is drawn */
};

/* Whether two rows stand on each other in a stack. */
static bool same_place(const struct pk_chart *c, size_t a, size_t b)
{
    json_t *x[] = {value_of(c, a, PK_CHANNEL_X), value_of(c, b, PK_CHANNEL_X)};
    const bool same = json_equal(x[0], x[1]);
    json_decref(x[0]);
    json_decref(x[1]);
    return same;
}

/* The share of a drawing's length of axis that upright texts need beside it, from its own length. */
static double upright_room(const struct pk_chart *c)
{
    enum { CHARACTER = 6 }; /* pixels */
    const double bars = 0.35, most = 1.2;
    double length = 0;
    for (size_t row = 0; row < c->rows.n; row++)
        for (enum pk_channel k = PK_CHANNEL_RULE; k <= PK_CHANNEL_BAND; k++)
            if (c->encoding.key[k])
                length = fmax(length, (double)strlen(pk_cell_string(pk_chart_cell(c, row, k))) * CHARACTER);
    return fmax(bars, length < TALL ? fmin(most, length / (TALL - length)) : most);
}

/* Of what is drawn over the axis of y. */
static struct value_extent extent_of(const struct pk_chart *c)
{
    static const enum pk_channel drawn[] = {PK_CHANNEL_Y, PK_CHANNEL_LOW, PK_CHANNEL_HIGH, PK_CHANNEL_FIT};
    const bool stacked = c->encoding.mark == PK_MARK_AREA || c->encoding.mark == PK_MARK_STACK;
    struct value_extent e = {NAN, NAN};
    double sum = 0;
    for (size_t row = 0; row < c->rows.n; row++) {
        sum = (row && same_place(c, row - 1, row) ? sum : 0) + fmax(0, pk_chart_number(c, row, PK_CHANNEL_Y));
        if (stacked)
            e.most = fmax(e.most, sum);
        for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
            e.least = fmin(e.least, pk_chart_number(c, row, drawn[i]));
            e.most = fmax(e.most, pk_chart_number(c, row, drawn[i]));
        }
    }
    return e;
}

/* The end of the axis of y that leaves room above for texts; NaN where none stand there. */
static double end_with_room(const struct pk_chart *c, bool from_zero)
{
    const bool upright =
        has_values(c, PK_CHANNEL_RULE) || has_values(c, PK_CHANNEL_BAND) || c->encoding.mark == PK_MARK_BAR;
    const double room = upright ? upright_room(c) : 0.2;
    const struct value_extent e = extent_of(c);
    const double least = from_zero ? 0 : e.least;
    if (!has_values(c, PK_CHANNEL_LABEL) && !has_values(c, PK_CHANNEL_RULE) &&
        !has_values(c, PK_CHANNEL_BAND))
        return NAN;
    return c->encoding.scale[PK_CHANNEL_Y] == PK_SCALE_LINEAR ? e.most + room * (e.most - least)
                                                              : e.most * pow(e.most / e.least, room);
}

/* --- channels --- */

static json_t *scale_of(const struct pk_chart *c, enum pk_channel channel)
{
    enum { BESIDE_POINTS = 8, BESIDE_RULES = 12 }; /* pixels */
    const enum pk_chart_mark mark = c->encoding.mark;
    const enum pk_chart_scale kind = c->encoding.scale[channel];
    const struct value_extent e = extent_of(c);
    const bool from_zero = mark == PK_MARK_BAR || mark == PK_MARK_STACK || mark == PK_MARK_AREA ||
                           (e.least >= 0 && e.least < e.most / 3);
    const double end = end_with_room(c, from_zero);
    json_t *scale = kind == PK_SCALE_LINEAR ? json_pack("{s:b}", "zero", channel == PK_CHANNEL_Y && from_zero)
                                            : json_pack("{s:s, s:b}", "type", "log", "nice", 0);
    if (kind == PK_SCALE_LOG2)
        json_object_set_new(scale, "base", json_integer(2));
    if (mark == PK_MARK_AREA)
        json_object_set_new(scale, "nice", json_false());
    if (channel == PK_CHANNEL_Y && isfinite(end))
        json_object_set_new(scale, "domainMax", pk_json_real(end));
    if (channel == PK_CHANNEL_X && mark != PK_MARK_AREA &&
        (mark != PK_MARK_SPAN || has_values(c, PK_CHANNEL_RULE)))
        json_object_set_new(scale, "padding",
                            json_integer(has_values(c, PK_CHANNEL_RULE) ? BESIDE_RULES : BESIDE_POINTS));
    return scale;
}

static json_t *axis_of(const struct pk_chart *c, enum pk_channel channel)
{
    enum { TICKS = 10 };
    const bool is_ordinal = pk_chart_is_ordinal(c, channel);
    const bool doubles = c->encoding.scale[channel] == PK_SCALE_LOG2;
    json_t *axis =
        json_pack("{s:b, s:i, s:i}", "labelOverlap", !is_ordinal, "labelLimit", 240, "maxExtent", 260);
    if (channel == PK_CHANNEL_X) /* page.js slants texts that have no room beside each other */
        json_object_set_new(axis, "labelAngle", json_integer(0));
    if (doubles) /* 1024, not 1,024 */
        json_object_set_new(axis, "format", json_string("~f"));
    json_t *values = doubles ? distinct(c, channel, TICKS) : NULL;
    if (values)
        json_object_set_new(axis, "values", values);
    else if (!is_ordinal)
        json_object_update_new(axis, json_pack("{s:i, s:i}", "tickCount", 6, "labelSeparation", 5));
    if (!is_ordinal && c->columns[c->at[channel]].decimals == 0)
        json_object_set_new(axis, "tickMinStep", json_integer(1));
    return axis;
}

/* An axis of a drawing. */
static json_t *position(const struct pk_chart *c, enum pk_channel channel)
{
    json_t *p = json_pack("{s:s, s:s, s:o}", "field", fields[channel], "title", pk_chart_heading(c, channel),
                          "axis", axis_of(c, channel));
    if (pk_chart_is_ordinal(c, channel)) {
        json_object_set_new(p, "type", json_string("ordinal"));
        json_object_set_new(p, "sort", json_null());
    } else {
        json_object_set_new(p, "type", json_string("quantitative"));
        json_object_set_new(p, "scale", scale_of(c, channel));
    }
    return p;
}

static json_t *series(const struct pk_chart *c)
{
    json_t *names = distinct(c, PK_CHANNEL_COLOR, c->rows.n);
    return json_pack("{s:s, s:s, s:s, s:{s:o}, s:{s:s}}", "field", "c", "type", "nominal", "title",
                     pk_chart_heading(c, PK_CHANNEL_COLOR), "scale", "domain", names, "legend", "orient",
                     "top");
}

/* How far the values of a heat map are from its guide: as a factor with a logarithmic scale, else as a difference. */
static double reach(const struct pk_chart *c, bool is_log)
{
    double most = is_log ? 1.01 : 1e-9;
    for (size_t row = 0; row < c->rows.n; row++) {
        const double v = pk_chart_number(c, row, PK_CHANNEL_COLOR), g = c->encoding.guide;
        const double away = is_log ? fmax(v / g, g / v) : fabs(v - g);
        most = isfinite(away) && away > most ? away : most;
    }
    return most;
}

/* The colours of a heat map are light enough for black text; with a guide, that value is white. */
static json_t *heat(const struct pk_chart *c)
{
    const bool is_log = c->encoding.scale[PK_CHANNEL_COLOR] != PK_SCALE_LINEAR;
    json_t *scale = json_pack("{s:s, s:s}", "type", is_log ? "log" : "linear", "interpolate", "lab");
    if (isfinite(c->encoding.guide)) {
        const double g = c->encoding.guide, r = reach(c, is_log);
        json_object_set_new(scale, "domain",
                            json_pack("[f,f,f]", is_log ? g / r : g - r, g, is_log ? g * r : g + r));
        json_object_set_new(scale, "range", json_pack("[s,s,s]", "#e8964a", "#f7f7f7", "#62a6d8"));
    } else {
        json_object_set_new(scale, "range", json_pack("[s,s]", "#f3f8fc", "#62a6d8"));
    }
    return json_pack("{s:s, s:s, s:s, s:o, s:{s:s, s:i, s:s, s:i}}", "field", "c", "type", "quantitative",
                     "title", pk_chart_heading(c, PK_CHANNEL_COLOR), "scale", scale, "legend", "orient",
                     "top", "gradientLength", 150, "format", ".3~g", "tickCount", 3);
}

static json_t *tooltip(const struct pk_chart *c)
{
    json_t *list = json_array();
    for (size_t k = 0; k < PK_CHANNELS; k++) {
        const char *heading = pk_chart_heading(c, (enum pk_channel)k);
        const bool is_text = pk_chart_is_ordinal(c, (enum pk_channel)k);
        if (heading)
            json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "field", fields[k], "type",
                                                  is_text ? "nominal" : "quantitative", "title", heading));
    }
    return list;
}

/* --- layers --- */

/* A mark with the rows that have a value in a field; marks and encodings are taken. Fields are named here, nothing of a row is. */
static json_t *layer(json_t *mark, const char *field, json_t *encoding)
{
    char filter[32];
    snprintf(filter, sizeof filter, "isValid(datum.%s)", field);
    return json_pack("{s:o, s:[{s:s}], s:o}", "mark", mark, "transform", "filter", filter, "encoding",
                     encoding);
}

static json_t *interval_layer(const struct pk_chart *c)
{
    const bool along_x = c->encoding.mark == PK_MARK_RANGE;
    json_t *low = json_pack("{s:s, s:s, s:s}", "field", "lo", "type", "quantitative", "title",
                            pk_chart_heading(c, along_x ? PK_CHANNEL_X : PK_CHANNEL_Y));
    json_t *encoding =
        json_pack("{s:o, s:{s:s}}", along_x ? "x" : "y", low, along_x ? "x2" : "y2", "field", "hi");
    if (along_x)
        json_object_set_new(encoding, "y", position(c, PK_CHANNEL_Y));
    if (c->encoding.mark == PK_MARK_BAR) /* in the colour of its bar it would not be seen */
        json_object_set_new(encoding, "color", json_pack("{s:s}", "value", "currentColor"));
    return layer(json_pack("{s:s, s:f}", "type", "rule", "strokeWidth", 1.5), "lo", encoding);
}

/* Joins the points of a place where ranges have no interval. */
static json_t *span_layer(const struct pk_chart *c)
{
    return layer(json_pack("{s:s, s:f, s:f}", "type", "rule", "strokeWidth", 1.5, "opacity", 0.5), "x",
                 json_pack("{s:{s:s, s:s, s:s, s:s}, s:{s:s, s:s}, s:o, s:{s:s}}", "x", "field", "x", "type",
                           "quantitative", "aggregate", "min", "title", pk_chart_heading(c, PK_CHANNEL_X),
                           "x2", "field", "x", "aggregate", "max", "y", position(c, PK_CHANNEL_Y), "color",
                           "value", "currentColor"));
}

static json_t *fit_layer(const struct pk_chart *c)
{
    json_t *y = json_pack("{s:s, s:s, s:s}", "field", "fit", "type", "quantitative", "title",
                          pk_chart_heading(c, PK_CHANNEL_Y));
    return layer(json_pack("{s:s, s:[i,i], s:f}", "type", "line", "strokeDash", 5, 4, "strokeWidth", 1.5),
                 "fit", json_pack("{s:o}", "y", y));
}

/* Its value is that of a field: a constant would give way to the field that all layers share. */
static json_t *guide_layer(const struct pk_chart *c)
{
    const bool along_x = c->encoding.mark == PK_MARK_RANGE;
    return json_pack("{s:{s:[{s:f}]}, s:{s:s, s:[i,i], s:s}, s:{s:{s:s, s:s, s:s}, s:n, s:n}}", "data",
                     "values", "at", c->encoding.guide, "mark", "type", "rule", "strokeDash", 2, 3, "color",
                     "currentColor", "encoding", along_x ? "x" : "y", "field", "at", "type", "quantitative",
                     "title", pk_chart_heading(c, along_x ? PK_CHANNEL_X : PK_CHANNEL_Y), along_x ? "y" : "x",
                     "color");
}

/* Whether rows have a label where there is a mark, or where there is none. */
static bool has_labels(const struct pk_chart *c, bool marked)
{
    const enum pk_channel measured = c->encoding.mark == PK_MARK_CELLS ? PK_CHANNEL_COLOR : PK_CHANNEL_Y;
    for (size_t row = 0; row < c->rows.n; row++)
        if (pk_chart_cell(c, row, PK_CHANNEL_LABEL)->type != PK_CELL_NULL &&
            (pk_chart_cell(c, row, measured)->type != PK_CELL_NULL) == marked)
            return true;
    return false;
}

/* Series without a point at an x, below each other at the top, to the left of it: they are rather the last ones. */
static json_t *missing_layer(const struct pk_chart *c)
{
    const bool several = has(c, PK_CHANNEL_COLOR);
    return json_pack("{s:[{s:s}, {s:[{s:s,s:s}], s:[s,s]}, {s:s,s:s}, {s:s,s:s}], s:{s:s, s:s, s:i, s:i}, "
                     "s:{s:{s:s,s:s}, s:{s:s,s:s,s:n}, s:{s:s}}}",
                     "transform", "filter", "isValid(datum.t) && !isValid(datum.y)", "window", "op",
                     "row_number", "as", "line", "groupby", "x", "f", "calculate", "13 * datum.line", "as",
                     "line", "calculate", several ? "datum.c + ' ' + datum.t" : "datum.t", "as", "t", "mark",
                     "type", "text", "align", "right", "dx", 6, "fontSize", 11, "encoding", "text", "field",
                     "t", "type", "nominal", "y", "field", "line", "type", "quantitative", "scale", "color",
                     "value", "currentColor");
}

/* Texts at marks, or those in the place of a mark that is missing: in its cell, or upright where the bar would be. */
static json_t *label_layer(const struct pk_chart *c, bool marked)
{
    const bool cells = c->encoding.mark == PK_MARK_CELLS, bar = c->encoding.mark == PK_MARK_BAR,
               stack = c->encoding.mark == PK_MARK_STACK;
    json_t *mark = bar ? json_pack("{s:s, s:s, s:s, s:i, s:i, s:i}", "type", "text", "baseline", "middle",
                                   "align", "left", "angle", 270, "dx", 4, "fontSize", 11)
                       : json_pack("{s:s, s:s, s:i, s:i}", "type", "text", "baseline",
                                   cells ? "middle" : "bottom", "dy", cells ? 0 : -6, "fontSize", 11);
    const char *filter =
        cells ? (marked ? "isValid(datum.t) && isValid(datum.c)" : "isValid(datum.t) && !isValid(datum.c)")
              : (marked ? "isValid(datum.t) && isValid(datum.y)" : "isValid(datum.t) && !isValid(datum.y)");
    json_t *encoding = json_pack("{s:{s:s, s:s}, s:{s:s}}", "text", "field", "t", "type", "nominal", "color",
                                 "value", cells && marked ? "#111" : "currentColor");
    if (bar && !marked)
        json_object_set_new(encoding, "y", json_pack("{s:s}", "value", "height"));
    else if (!cells)
        json_object_set_new(encoding, "y", position(c, PK_CHANNEL_Y));
    if ((bar || stack) && marked) /* above the interval, or all parts */
        json_object_set_new(json_object_get(encoding, "y"), "field", json_string("top"));
    json_t *top =
        stack ? json_pack("{s:[{s:s,s:s,s:s}], s:[s,s]}", "joinaggregate", "op", "sum", "field", "y", "as",
                          "top", "groupby", "x", "f")
              : json_pack("{s:s, s:s}", "calculate", "isValid(datum.hi) ? datum.hi : datum.y", "as", "top");
    return json_pack("{s:[o, {s:s}], s:o, s:o}", "transform", top, "filter", filter, "mark", mark, "encoding",
                     encoding);
}

/* A text that hangs from the top, so that lines close to each other keep theirs apart. */
static json_t *upright_text(const char *field, bool before)
{
    return json_pack("{s:{s:s, s:i, s:s, s:s, s:i, s:i, s:i}, s:{s:{s:s, s:s}, s:{s:i}, s:{s:s}}}", "mark",
                     "type", "text", "angle", 270, "align", "right", "baseline", before ? "bottom" : "top",
                     "dx", -3, "dy", before ? -3 : 3, "fontSize", 11, "encoding", "text", "field", field,
                     "type", "nominal", "y", "value", 0, "color", "value", "currentColor");
}

static json_t *rule_layer(const struct pk_chart *c)
{
    json_t *text = upright_text("r", true);
    if (c->encoding.mark == PK_MARK_SPAN) { /* early spans are at the top */
        json_object_set_new(json_object_get(text, "mark"), "align", json_string("left"));
        json_object_set_new(json_object_get(text, "mark"), "dx", json_integer(3));
        json_object_set_new(json_object_get(json_object_get(text, "encoding"), "y"), "value",
                            json_string("height"));
    }
    json_t *line = json_pack("{s:{s:s, s:[i,i], s:f}, s:{s:{s:s}}}", "mark", "type", "rule", "strokeDash", 4,
                             3, "strokeWidth", 1.2, "encoding", "color", "value", "currentColor");
    return json_pack("{s:[{s:s}], s:[o,o]}", "transform", "filter", "isValid(datum.r)", "layer", line, text);
}

/* The ground of each band, every second one darker. */
static json_t *band_layer(const struct pk_chart *c)
{
    json_t *ends =
        json_pack("[{s:s}, {s:[{s:s,s:s,s:s},{s:s,s:s,s:s}], s:[s]}, {s:[{s:s,s:s}], s:[{s:s}], s:[]}]",
                  "filter", "isValid(datum.b)", "aggregate", "op", "min", "field", "x", "as", "from", "op",
                  "max", "field", "x2", "as", "to", "groupby", "b", "window", "op", "row_number", "as",
                  "place", "sort", "field", "from", "groupby");
    json_t *x = json_pack("{s:s, s:s, s:s}", "field", "from", "type", "quantitative", "title",
                          pk_chart_heading(c, PK_CHANNEL_X));
    json_t *ground =
        json_pack("{s:{s:s}, s:{s:O, s:{s:s}, s:{s:{s:s, s:f}, s:f}, s:{s:s}}}", "mark", "type", "rect",
                  "encoding", "x", x, "x2", "field", "to", "opacity", "condition", "test",
                  "datum.place % 2 == 0", "value", 0.16, "value", 0.06, "color", "value", "currentColor");
    const bool at_end = has_values(c, PK_CHANNEL_RULE); /* rules have theirs near the start */
    json_t *text = upright_text("b", at_end), *at = json_deep_copy(x);
    json_object_set_new(at, "field", json_string(at_end ? "to" : "from"));
    json_object_set_new(json_object_get(text, "encoding"), "x", at);
    json_decref(x);
    return json_pack("{s:o, s:[o,o]}", "transform", ends, "layer", ground, text);
}

/* The marks themselves, as rows: Vega's type, and what it has besides. */
static json_t *main_mark(const struct pk_chart *c)
{
    switch (c->encoding.mark) {
    case PK_MARK_BAR:
        return json_pack("{s:s}", "type", "bar");
    case PK_MARK_STACK:
        return json_pack("{s:s}", "type", "bar");
    case PK_MARK_AREA:
        return json_pack("{s:s, s:s, s:f}", "type", "area", "interpolate", "step-after", "opacity", 0.9);
    case PK_MARK_CELLS:
        return json_pack("{s:s}", "type", "rect");
    case PK_MARK_SPAN:
        return json_pack("{s:s, s:f}", "type", "bar", "opacity", 0.85);
    default:
        return json_pack("{s:s, s:b, s:i, s:f}", "type", "point", "filled", 1, "size", 45, "opacity", 0.9);
    }
}

static json_t *main_encoding(const struct pk_chart *c)
{
    const enum pk_chart_mark mark = c->encoding.mark;
    json_t *e = json_pack("{s:o}", "tooltip", tooltip(c));
    if (mark == PK_MARK_CELLS) {
        json_object_set_new(e, "color", heat(c));
        return e;
    }
    json_object_set_new(e, "y", position(c, PK_CHANNEL_Y));
    if (mark == PK_MARK_STACK || mark == PK_MARK_AREA)
        json_object_set_new(json_object_get(e, "y"), "stack", json_string("zero"));
    if (mark == PK_MARK_BAR && isfinite(c->encoding.guide))
        json_object_set_new(e, "y2", json_pack("{s:f}", "datum", c->encoding.guide));
    if (mark == PK_MARK_SPAN)
        json_object_set_new(e, "x2", json_pack("{s:s}", "field", "x2"));
    if (has(c, PK_CHANNEL_COLOR) &&
        (mark == PK_MARK_LINE || mark == PK_MARK_POINT || mark == PK_MARK_RANGE)) {
        json_object_set_new(e, "color", series(c));
        json_object_set_new(e, "shape", series(c));
    }
    return e;
}

static json_t *layers_of(const struct pk_chart *c)
{
    const enum pk_chart_mark mark = c->encoding.mark;
    json_t *layers = json_array();
    if (has_values(c, PK_CHANNEL_BAND))
        json_array_append_new(layers, band_layer(c));
    if (mark == PK_MARK_LINE)
        json_array_append_new(layers, layer(json_pack("{s:s, s:i}", "type", "line", "strokeWidth", 2), "y",
                                            json_pack("{s:o}", "y", position(c, PK_CHANNEL_Y))));
    if (has_values(c, PK_CHANNEL_FIT))
        json_array_append_new(layers, fit_layer(c));
    if (mark == PK_MARK_RANGE && !has_values(c, PK_CHANNEL_LOW))
        json_array_append_new(layers, span_layer(c));
    json_array_append_new(layers, layer(main_mark(c), mark == PK_MARK_CELLS ? "c" : "y", main_encoding(c)));
    if (has_values(c, PK_CHANNEL_LOW))
        json_array_append_new(layers, interval_layer(c));
    for (int marked = 0; marked < 2; marked++)
        if (has_labels(c, marked))
            json_array_append_new(layers, !marked && (mark == PK_MARK_LINE || mark == PK_MARK_POINT)
                                              ? missing_layer(c)
                                              : label_layer(c, marked));
    if (has_values(c, PK_CHANNEL_RULE))
        json_array_append_new(layers, rule_layer(c));
    if (isfinite(c->encoding.guide) && mark != PK_MARK_CELLS)
        json_array_append_new(layers, guide_layer(c));
    return layers;
}

/* What all layers share. */
static json_t *shared_encoding(const struct pk_chart *c)
{
    const enum pk_chart_mark mark = c->encoding.mark;
    json_t *e = json_pack("{s:o}", "x", position(c, PK_CHANNEL_X));
    if (mark == PK_MARK_CELLS)
        json_object_set_new(e, "y", position(c, PK_CHANNEL_Y));
    else if (has(c, PK_CHANNEL_COLOR))
        json_object_set_new(e, "color", series(c));
    if (mark == PK_MARK_BAR && has(c, PK_CHANNEL_COLOR))
        json_object_set_new(e, "xOffset",
                            json_pack("{s:s, s:s, s:n}", "field", "c", "type", "nominal", "sort"));
    return e;
}

static json_t *height_of(const struct pk_chart *c)
{
    enum { STEP = 24, NARROW = 14, LEAST = 48 };
    const enum pk_chart_mark mark = c->encoding.mark;
    const size_t step = mark == PK_MARK_SPAN ? NARROW : STEP;
    const size_t steps = pk_chart_is_ordinal(c, PK_CHANNEL_Y) ? step * places(c, PK_CHANNEL_Y) : 0;
    const bool across = mark == PK_MARK_RANGE || mark == PK_MARK_SPAN || mark == PK_MARK_CELLS;
    return json_integer(across                      ? (json_int_t)(steps < LEAST ? LEAST : steps)
                        : !has(c, PK_CHANNEL_FACET) ? ALONE
                        : upright_room(c) > 0.5     ? TALL
                                                    : FACET);
}

json_t *pk_page_spec(const struct pk_chart *c, size_t *drawn)
{
    const bool facets = has(c, PK_CHANNEL_FACET);
    json_t *unit = json_pack("{s:o, s:o, s:o, s:i}", "encoding", shared_encoding(c), "layer", layers_of(c),
                             "height", height_of(c), "width", facets ? 260 : 640);
    json_t *data = values_of(c, drawn);
    if (!facets) {
        json_object_set_new(unit, "data", data);
        json_object_set_new(unit, "description", json_string(c->title));
        return unit;
    }
    json_t *order = distinct(c, PK_CHANNEL_FACET, c->rows.n);
    return json_pack("{s:s, s:o, s:{s:s, s:s, s:n, s:o, s:{s:i}}, s:i, s:o}", "description", c->title, "data",
                     data, "facet", "field", "f", "type", "nominal", "title", "sort", order, "header",
                     "labelLimit", 300, "columns", 2, "spec", unit);
}
