/* Table: aligned columns for people, as the reports print them: title, headings, a rule, rows, notes. Laid
 * out by libsmartcols. */
#include "out/text.h"
#include "out/writer.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* smartcols answers with negative errno values. */
static void check(struct pk_out *o, int rc)
{
    if (rc < 0 && !o->sink.error)
        o->sink.error = -rc;
}

/* Numbers are never broken or cut: only text columns may wrap. */
static void table(struct pk_out *o)
{
    struct libscols_table *t = scols_new_table();
    o->state = t;
    if (!t) {
        check(o, -ENOMEM);
        return;
    }
    check(o, scols_table_set_column_separator(t, "  "));
    check(o, scols_table_set_termforce(t, o->opt.width ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER));
    if (o->opt.width)
        check(o, scols_table_set_termwidth(t, o->opt.width));
    for (size_t i = 0; i < o->n_cols; i++) {
        if (o->cols[i].machine)
            continue;
        pk_buf_clear(&o->buf);
        pk_text_safe(&o->buf, o->cols[i].heading);
        int flags = o->cols[i].left ? SCOLS_FL_WRAP : SCOLS_FL_RIGHT;
        if (!scols_table_new_column(t, pk_buf_text(&o->buf), 0, flags))
            check(o, -ENOMEM);
    }
}

static void row(struct pk_out *o, const struct pk_cell *cells)
{
    if (o->sink.error)
        return;
    struct libscols_line *line = scols_table_new_line(o->state, NULL);
    if (!line) {
        check(o, -ENOMEM);
        return;
    }
    for (size_t i = 0, shown = 0; i < o->n_cols; i++) {
        if (o->cols[i].machine)
            continue;
        pk_buf_clear(&o->buf);
        pk_text_cell(&o->buf, &o->cols[i], &cells[i]);
        if (o->buf.n)
            check(o, scols_line_set_data(line, shown, o->buf.s));
        shown++;
    }
}

/* Columns on the screen that a line takes. */
static size_t screen_width(const char *s, size_t n)
{
    wchar_t c;
    mbstate_t state = {0};
    size_t width = 0;
    for (size_t used; n; s += used, n -= used) {
        used = mbrtowc(&c, s, n, &state);
        if (used == 0 || used > n)
            return width;
        int w = wcwidth(c);
        width += w > 0 ? (size_t)w : 0;
    }
    return width;
}

/* Columns on the screen of the widest text of a column. By iterator: asking for line k walks from the first. */
static size_t widest_cell(struct libscols_table *t, struct libscols_column *col, struct libscols_iter *lines)
{
    struct libscols_line *line;
    size_t widest = 0;
    scols_reset_iter(lines, SCOLS_ITER_FORWARD);
    while (scols_table_next_line(t, lines, &line) == 0) {
        const char *s = scols_line_get_column_data(line, col);
        size_t w = s ? screen_width(s, strlen(s)) : 0;
        widest = w > widest ? w : widest;
    }
    return widest;
}

/* Only long texts are wrapped: a name broken in two is no name. */
static void keep_short_columns_whole(struct libscols_table *t)
{
    enum { SHORT = 16 };
    struct libscols_iter *lines = scols_new_iter(SCOLS_ITER_FORWARD);
    for (size_t i = 0; lines && i < scols_table_get_ncols(t); i++) {
        struct libscols_column *col = scols_table_get_column(t, i);
        if (!scols_column_is_right(col) && widest_cell(t, col, lines) <= SHORT)
            scols_column_set_flags(col, 0);
    }
    scols_free_iter(lines);
}

static size_t line_length(const char *s)
{
    return strcspn(s, "\n");
}

static size_t widest_line(const char *text)
{
    size_t widest = 0;
    for (const char *p = text; *p;) {
        size_t n = line_length(p);
        size_t w = screen_width(p, n);
        widest = w > widest ? w : widest;
        p += n + (p[n] == '\n');
    }
    return widest;
}

static void put_line(struct pk_sink *s, const char *line, size_t n)
{
    while (n && line[n - 1] == ' ')
        n--;
    pk_sink_put(s, line, n);
    pk_sink_char(s, '\n');
}

/* The laid-out text with a rule under its first line and no blanks at line ends. */
static void put_body(struct pk_out *o, const char *text)
{
    size_t rule = widest_line(text);
    for (const char *p = text; *p;) {
        size_t n = line_length(p);
        put_line(&o->sink, p, n);
        if (p == text) {
            for (size_t i = 0; i < rule; i++)
                pk_sink_char(&o->sink, '-');
            pk_sink_char(&o->sink, '\n');
        }
        p += n + (p[n] == '\n');
    }
}

static void put_title(struct pk_out *o)
{
    if (o->n_names > 1)
        pk_sink_char(&o->sink, '\n');
    if (!o->title)
        return;
    pk_buf_clear(&o->buf);
    pk_text_safe(&o->buf, o->title);
    if (o->opt.color)
        pk_sink_str(&o->sink, "\x1b[1m");
    pk_sink_str(&o->sink, pk_buf_text(&o->buf));
    if (o->opt.color)
        pk_sink_str(&o->sink, "\x1b[0m");
    pk_sink_char(&o->sink, '\n');
}

static void put_notes(struct pk_out *o)
{
    for (size_t i = 0; i < o->n_notes; i++) {
        pk_buf_clear(&o->buf);
        pk_text_safe(&o->buf, o->notes[i]);
        put_line(&o->sink, pk_buf_text(&o->buf), o->buf.n);
    }
}

/* smartcols prints nothing at all for a table without rows. */
static void table_end(struct pk_out *o)
{
    struct libscols_table *t = o->state;
    put_title(o);
    if (!o->rows) {
        pk_sink_str(&o->sink, "(no rows)\n");
    } else if (!o->sink.error) {
        char *text = NULL;
        keep_short_columns_whole(t);
        check(o, scols_print_table_to_string(t, &text));
        if (text)
            put_body(o, text);
        free(text);
    }
    scols_unref_table(t);
    put_notes(o);
}

const struct pk_writer pk_writer_table = {
    .name = "table", .table = table, .row = row, .table_end = table_end, .end = put_notes};
