/* Table: aligned columns for people, as the reports print them: title, headings, a rule, rows, notes. layout.h decides what fits. */
#include "out/layout.h"

#include "base/text/words.h"
#include "out/text.h"
#include "out/writer.h"

#include <string.h>

/* --- the texts of a row side by side, each wrapped at its column's width, line after line -------------------------------
 *
 * A table goes over its texts twice, to find how wide its columns are and to write them: lines are not kept, for there may be a hundred
 * thousand. */

struct line_piece {
    const char *text;
    size_t bytes, width;
};

struct lines {
    size_t n; /* columns */
    const struct pk_layout_column *columns;
    size_t *widths;        /* of what was seen of each; at first 0 */
    enum pk_style *styles; /* of the current row's texts */

    /* the current line of lines_next, and the rest of each text: room for n */
    struct line_piece *piece;
    const char **rest;
    const size_t *above;
    size_t line;
};

/* above[i] lines stay empty above text i; with NULL none do, and only columns of texts wrap. */
static void lines_begin(struct lines *l, const char *const *texts, const size_t *above)
{
    for (size_t i = 0; i < l->n; i++)
        l->rest[i] = l->columns[i].shown ? texts[i] : NULL;
    l->above = above;
    l->line = 0;
}

/* False after the last one. */
static bool lines_next(struct lines *l)
{
    bool any = false;
    for (size_t i = 0; i < l->n; i++) {
        const struct pk_layout_column *c = &l->columns[i];
        const char *text = l->rest[i];
        l->piece[i] = (struct line_piece){0};
        any |= text != NULL;
        if (!text || (l->above && l->line < l->above[i]))
            continue;
        const size_t bytes = pk_wrap(text, c->wraps || l->above ? c->width : 0, &l->rest[i]);
        l->piece[i] = (struct line_piece){text, bytes, pk_screen_width(text, bytes)};
    }
    l->line++;
    return any;
}

static void put_styled(struct pk_sink *s, const char *text, size_t n, enum pk_style style)
{
    pk_sink_str(s, n ? pk_style_escape(style) : "");
    pk_sink_put(s, text, n);
    pk_sink_str(s, n && style ? pk_style_escape(PK_STYLE_END) : "");
}

/* Without blanks at its end. */
static void lines_put(const struct lines *l, struct pk_sink *s)
{
    size_t blanks = 0; /* not written yet */
    for (size_t i = 0; i < l->n; i++) {
        const struct line_piece *p = &l->piece[i];
        const size_t room = l->widths[i] - p->width, before = l->columns[i].wraps ? 0 : room;
        size_t bytes = p->bytes;
        if (!l->columns[i].shown)
            continue;
        while (bytes && p->text[bytes - 1] == ' ')
            bytes--;
        blanks += before;
        for (; bytes && blanks; blanks--)
            pk_sink_char(s, ' ');
        put_styled(s, p->text, bytes, l->styles[i]);
        blanks += p->bytes - bytes + room - before + PK_LAYOUT_GAP;
    }
    pk_sink_char(s, '\n');
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

/* As the terminal can show it; valid until the next. */
static const char *shown_text(struct pk_out *o, const char *text)
{
    pk_buf_clear(&o->buf);
    pk_text_safe(&o->buf, text);
    return o->opt.ascii ? pk_text_ascii(pk_buf_text(&o->buf), &o->arena) : pk_buf_text(&o->buf);
}

/* The cells of people's columns, row by row, kept until the widths are known. */
struct body {
    size_t n; /* columns that people see */
    const struct pk_column **cols;
    const char **cells;
    size_t n_cells, cap;
};

static void table(struct pk_out *o)
{
    struct body *b = o->state = pk_new(&o->arena, struct body);
    b->cols = pk_new_n(&o->arena, const struct pk_column *, o->n_cols);
    for (size_t i = 0; i < o->n_cols; i++)
        if (!o->cols[i].machine)
            b->cols[b->n++] = &o->cols[i];
}

static void row(struct pk_out *o, const struct pk_cell *cells)
{
    struct body *b = o->state;
    for (size_t i = 0; i < o->n_cols; i++) {
        if (o->cols[i].machine)
            continue;
        pk_buf_clear(&o->buf);
        pk_text_cell(&o->buf, &o->cols[i], &cells[i]);
        b->cells = pk_grow(&o->arena, b->cells, sizeof *b->cells, b->n_cells, &b->cap);
        const char *text = pk_buf_text(&o->buf);
        b->cells[b->n_cells++] = o->opt.ascii ? pk_text_ascii(text, &o->arena) : pk_strdup(&o->arena, text);
    }
}

/* Length of a number from its decimal point, of an interval from what is between its ends. */
static size_t behind_point(const char *s, bool interval)
{
    const char *point = interval ? strstr(s, PK_INTERVAL_TO) : strchr(s, '.');
    if (!point && interval)
        point = strstr(s, PK_INTERVAL_DASH);
    if (!point && interval)
        point = strchr(s, '-');
    return point ? pk_screen_width(point, strlen(point)) : 0;
}

/* Blanks after the shorter ones, so that decimal points are aligned. */
static void align_points(struct pk_out *o, struct body *b, size_t col)
{
    const bool interval = b->cols[col]->interval;
    size_t longest = 0;
    for (size_t i = col; i < b->n_cells; i += b->n) {
        size_t n = behind_point(b->cells[i], interval);
        longest = n > longest ? n : longest;
    }
    for (size_t i = col; i < b->n_cells; i += b->n) {
        int missing = (int)(longest - behind_point(b->cells[i], interval));
        if (missing && *b->cells[i])
            b->cells[i] = pk_printf(&o->arena, "%s%*s", b->cells[i], missing, "");
    }
}

/* A number over or under what can be. */
static bool is_marked(const struct pk_column *c, const char *cell)
{
    return *cell == '!' && !c->left;
}

static enum pk_style style_of(const struct pk_out *o, const struct pk_column *c, const char *cell)
{
    return !o->opt.color        ? PK_STYLE_PLAIN
           : is_marked(c, cell) ? PK_STYLE_DOUBT
           : c->state           ? pk_style_of_word(cell)
                                : PK_STYLE_PLAIN;
}

static struct pk_layout_column *measured_columns(struct pk_out *o, const struct body *b)
{
    struct pk_layout_column *c = pk_new_n(&o->arena, struct pk_layout_column, b->n);
    for (size_t i = 0; i < b->n; i++) {
        c[i].heading = pk_strdup(&o->arena, shown_text(o, b->cols[i]->heading));
        c[i].wraps = b->cols[i]->left;
        c[i].optional = b->cols[i]->optional;
        for (size_t k = i; k < b->n_cells; k += b->n) {
            size_t width = pk_screen_width(b->cells[k], strlen(b->cells[k]));
            c[i].kept |= is_marked(b->cols[i], b->cells[k]);
            size_t word = c[i].wraps ? pk_longest_word(b->cells[k], false) : width;
            c[i].widest = width > c[i].widest ? width : c[i].widest;
            c[i].longest_word = word > c[i].longest_word ? word : c[i].longest_word;
            size_t piece = word > c[i].longest_piece ? pk_longest_word(b->cells[k], true) : 0;
            c[i].longest_piece = piece > c[i].longest_piece ? piece : c[i].longest_piece;
        }
    }
    return c;
}

/* A free text, wrapped to the width. */
static void put_paragraph(struct pk_out *o, const char *text, enum pk_style style)
{
    for (const char *line = shown_text(o, text), *rest; line; line = rest) {
        size_t n = pk_wrap(line, o->opt.width, &rest);
        while (n && line[n - 1] == ' ')
            n--;
        put_styled(&o->sink, line, n, o->opt.color ? style : PK_STYLE_PLAIN);
        pk_sink_char(&o->sink, '\n');
    }
}

static void put_notes(struct pk_out *o)
{
    for (size_t i = 0; i < o->n_notes; i++)
        put_paragraph(o, o->notes[i], pk_style_of_note(o->notes[i]));
}

static void put_preface(struct pk_out *o)
{
    put_notes(o);
    pk_sink_char(&o->sink, '\n');
}

/* How to see what was left out. */
static const char *hint(struct pk_out *o)
{
    return pk_printf(&o->arena, "%s: %s%s%s%s", o->shortened ? "Everything" : "All columns",
                     o->again ? o->again : "", o->again ? " " : "",
                     !o->shortened ? ""
                     : o->left_out ? "--details "
                                   : "--details",
                     o->left_out ? "--width 0" : "");
}

/* Notes of no table, and once how to see what was left out of the tables. */
static void end(struct pk_out *o)
{
    put_notes(o);
    if (o->left_out || o->shortened)
        put_paragraph(o, hint(o), PK_STYLE_PLAIN);
}

/* The headings of what is not shown and not empty; "" = all is shown. */
static const char *left_out(struct pk_out *o, const struct pk_layout_column *c, size_t n)
{
    struct pk_buf b = {.arena = &o->arena};
    for (size_t i = 0; i < n; i++)
        if (!c[i].shown && c[i].widest)
            pk_buf_printf(&b, "%s%s", b.n ? ", " : "", c[i].heading);
    return pk_buf_text(&b);
}

static void put_or_measure(struct pk_out *o, struct lines *l, bool put)
{
    if (put)
        lines_put(l, &o->sink);
    for (size_t i = 0; i < l->n && !put; i++)
        l->widths[i] = l->piece[i].width > l->widths[i] ? l->piece[i].width : l->widths[i];
}

/* Headings are aligned to the rule below: one with fewer lines begins lower. */
static void put_headings(struct pk_out *o, struct lines *l, size_t lines, bool put)
{
    const char **texts = pk_new_n(&o->arena, const char *, l->n);
    size_t *above = pk_new_n(&o->arena, size_t, l->n);
    for (size_t i = 0; i < l->n; i++) {
        texts[i] = l->columns[i].heading;
        above[i] = l->columns[i].shown ? lines - pk_wrap_lines(texts[i], l->columns[i].width) : 0;
    }
    for (lines_begin(l, texts, above); lines_next(l);)
        put_or_measure(o, l, put);
    size_t rule = 0;
    for (size_t i = 0; i < l->n; i++)
        rule += l->columns[i].shown ? l->widths[i] + PK_LAYOUT_GAP : 0;
    for (size_t i = PK_LAYOUT_GAP; put && i < rule; i++)
        pk_sink_char(&o->sink, '-');
    if (put)
        pk_sink_char(&o->sink, '\n');
}

/* Texts of columns that are cut, where the widths are known. Returns the headings of those; "" = none was. */
static const char *cut_texts(struct pk_out *o, struct body *b, const struct pk_layout_column *c)
{
    static const char dots[] = "...";
    struct pk_buf cut = {.arena = &o->arena};
    for (size_t i = 0; i < b->n; i++) {
        const size_t room = c[i].width;
        if (!b->cols[i]->clip || !c[i].shown || c[i].widest <= room || o->opt.details || room < sizeof dots)
            continue;
        pk_buf_printf(&cut, "%s%s", cut.n ? ", " : "", c[i].heading);
        for (size_t k = i; k < b->n_cells; k += b->n) {
            const size_t bytes = strlen(b->cells[k]);
            if (pk_screen_width(b->cells[k], bytes) > room)
                b->cells[k] = pk_printf(&o->arena, "%.*s%s",
                                        (int)pk_characters(b->cells[k], bytes, room + 1 - sizeof dots),
                                        b->cells[k], dots);
        }
    }
    return pk_buf_text(&cut);
}

static void put_rows(struct pk_out *o, struct body *b, const struct pk_layout_column *c, size_t headings)
{
    struct lines l = {.n = b->n,
                      .columns = c,
                      .widths = pk_new_n(&o->arena, size_t, b->n),
                      .styles = pk_new_n(&o->arena, enum pk_style, b->n),
                      .piece = pk_new_n(&o->arena, struct line_piece, b->n),
                      .rest = pk_new_n(&o->arena, const char *, b->n)};
    for (int put = 0; put <= 1; put++) {
        put_headings(o, &l, headings, put);
        for (size_t i = 0; i < b->n_cells; i += b->n) {
            for (size_t k = 0; k < b->n; k++)
                l.styles[k] = style_of(o, b->cols[k], b->cells[i + k]);
            for (lines_begin(&l, b->cells + i, NULL); lines_next(&l);)
                put_or_measure(o, &l, put);
        }
        memset(l.styles, 0, b->n * sizeof *l.styles);
    }
}

/* --- a single row, as lines of key and value ------------------------------------------------------------------------------ */

enum {
    PAIR_LINES = 6,
    PAIR_TEXT = 8
}; /* more lines are put side by side where there is room; a text has this room */

struct pair {
    const char *key, *text;
    enum pk_style style;
};

/* Of the columns that are not empty. *key, *text: the widest of each. */
static size_t pairs_of(struct pk_out *o, const struct body *b, const struct pk_layout_column *c,
                       struct pair *v, size_t *key, size_t *text)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (!c[i].widest)
            continue;
        const size_t heading = pk_screen_width(c[i].heading, strlen(c[i].heading));
        v[n++] = (struct pair){c[i].heading, b->cells[i], style_of(o, b->cols[i], b->cells[i])};
        *key = heading > *key ? heading : *key;
        *text = c[i].widest > *text ? c[i].widest : *text;
    }
    return n;
}

static void put_blanks(struct pk_out *o, size_t n)
{
    while (n--)
        pk_sink_char(&o->sink, ' ');
}

/* Wraps the text; returns how wide its last line is. */
static size_t put_pair(struct pk_out *o, const struct pair *p, size_t key, size_t text)
{
    size_t width = 0;
    pk_sink_str(&o->sink, p->key);
    put_blanks(o, key - pk_screen_width(p->key, strlen(p->key)) + PK_LAYOUT_GAP);
    for (const char *line = p->text, *rest; line; line = rest) {
        const size_t n = pk_wrap(line, text, &rest);
        put_styled(&o->sink, line, n, p->style);
        width = pk_screen_width(line, n);
        if (rest) {
            pk_sink_char(&o->sink, '\n');
            put_blanks(o, key + PK_LAYOUT_GAP);
        }
    }
    return width;
}

static void put_pairs(struct pk_out *o, const struct body *b, const struct pk_layout_column *c)
{
    enum { BETWEEN = 2 * PK_LAYOUT_GAP };
    struct pair *v = pk_new_n(&o->arena, struct pair, b->n);
    size_t key = 0, text = 0, columns = 1;
    const size_t n = pairs_of(o, b, c, v, &key, &text), width = o->opt.width;
    while (columns * PAIR_LINES < n &&
           (columns + 1) * (key + PK_LAYOUT_GAP + text + BETWEEN) <= width + BETWEEN)
        columns++;
    const size_t lines = (n + columns - 1) / columns, left = key + PK_LAYOUT_GAP;
    if (columns == 1)
        text = width > left + PAIR_TEXT ? width - left : PAIR_TEXT;
    for (size_t line = 0; line < lines; line++) {
        for (size_t i = line; i < n; i += lines) {
            const size_t used = put_pair(o, &v[i], key, text);
            if (i + lines < n)
                put_blanks(o, text - used + BETWEEN);
        }
        pk_sink_char(&o->sink, '\n');
    }
}

/* --- as many rows as a screen has lines for --------------------------------------------------------------------------------- */

static size_t paragraph_lines(const struct pk_out *o, const char *text)
{
    return pk_wrap_lines(text, o->opt.width);
}

static size_t row_lines(const char *const *cells, const struct pk_layout_column *c, size_t n)
{
    size_t most = 1;
    for (size_t i = 0; i < n; i++) {
        const size_t lines = c[i].shown && c[i].wraps ? pk_wrap_lines(cells[i], c[i].width) : 1;
        most = lines > most ? lines : most;
    }
    return most;
}

/* How many rows there are lines for, with the note that says how many are left out. */
static size_t fitting_rows(struct pk_out *o, const struct body *b, const struct pk_layout_column *c,
                           size_t headings)
{
    enum { PROMPT = 1, RULE = 1, MORE = 1, LEAST_ROWS = 3 };
    const size_t rows = b->n_cells / b->n;
    size_t used = o->sink.lines + headings + RULE + PROMPT + o->reserved + paragraph_lines(o, hint(o)),
           fit = 0;
    for (size_t i = 0; i < o->n_notes; i++)
        used += paragraph_lines(o, o->notes[i]);
    for (size_t lines; fit < rows; fit++, used += lines) {
        lines = row_lines(b->cells + fit * b->n, c, b->n);
        if (fit >= LEAST_ROWS && used + lines + (fit + 1 < rows ? MORE : 0) > o->opt.height)
            break;
    }
    return fit;
}

/* Texts are cut where that saves rows. */
static void put_fitting(struct pk_out *o, struct body *b, const struct pk_layout_column *c, size_t headings)
{
    const size_t rows = b->n_cells / b->n;
    size_t fit = fitting_rows(o, b, c, headings);
    if (fit < rows) {
        o->left_out |= *cut_texts(o, b, c) != 0;
        fit = fitting_rows(o, b, c, headings);
    }
    b->n_cells = fit * b->n;
    put_rows(o, b, c, headings);
    if (fit < rows)
        put_paragraph(o, pk_printf(&o->arena, "%s more.", pk_plural(rows - fit, "row", &o->arena)),
                      PK_STYLE_PLAIN);
}

/* A single row has its columns below each other where there is no room beside each other. */
static void put_table(struct pk_out *o)
{
    struct body *b = o->state;
    for (size_t i = 0; i < b->n; i++)
        if ((b->cols[i]->decimals >= 0 || b->cols[i]->interval) && !b->cols[i]->left)
            align_points(o, b, i);
    struct pk_layout_column *c = measured_columns(o, b);
    const size_t headings = pk_layout(c, b->n, o->opt.width);
    const char *missing = left_out(o, c, b->n);
    if (*missing && b->n_cells == b->n) {
        put_pairs(o, b, c);
        return;
    }
    o->left_out |= *missing != 0;
    if (o->fit) {
        put_fitting(o, b, c, headings);
        return;
    }
    const char *cut = cut_texts(o, b, c);
    o->left_out |= *cut != 0;
    put_rows(o, b, c, headings);
    if (*cut)
        put_paragraph(o, pk_printf(&o->arena, "Cut at %u columns: %s.", o->opt.width, cut), PK_STYLE_PLAIN);
    const char *line = pk_printf(&o->arena, "Left out at %u columns: %s.", o->opt.width, missing);
    if (*missing && !pk_out_note_is_repeated(o, line))
        put_paragraph(o, line, PK_STYLE_PLAIN);
}

static void table_end(struct pk_out *o)
{
    if (o->printed > 1)
        pk_sink_char(&o->sink, '\n');
    if (o->title)
        put_paragraph(o, o->title, PK_STYLE_TITLE);
    if (o->rows)
        put_table(o);
    else
        put_paragraph(o, "(no rows)", PK_STYLE_PLAIN);
    put_notes(o);
}

static void drawing(struct pk_out *o, const char *title, const char *const *lines, size_t n)
{
    if (o->printed++)
        pk_sink_char(&o->sink, '\n');
    if (*title)
        put_paragraph(o, title, PK_STYLE_TITLE);
    for (size_t i = 0; i < n; i++) {
        pk_sink_str(&o->sink, lines[i]);
        pk_sink_char(&o->sink, '\n');
    }
}

const struct pk_writer pk_writer_table = {.people = true,
                                          .preface = put_preface,
                                          .table = table,
                                          .row = row,
                                          .table_end = table_end,
                                          .drawing = drawing,
                                          .end = end};
