/* Markdown: GitHub-flavoured tables with headings and display units. */
#include "out/text.h"
#include "out/writer.h"

#include <string.h>

static void put_escaped(struct pk_out *o, const char *s)
{
    for (; *s; s++) {
        if (*s == '<') {
            pk_sink_str(&o->sink, "&lt;");
            continue;
        }
        if (*s == '|' || *s == '\\')
            pk_sink_char(&o->sink, '\\');
        pk_sink_char(&o->sink, *s);
    }
}

static void put_safe(struct pk_out *o, const char *text)
{
    pk_buf_clear(&o->buf);
    pk_text_safe(&o->buf, text);
    put_escaped(o, pk_buf_text(&o->buf));
}

static void table(struct pk_out *o)
{
    if (o->n_names > 1)
        pk_sink_char(&o->sink, '\n');
    if (o->title) {
        pk_sink_str(&o->sink, "### ");
        put_safe(o, o->title);
        pk_sink_str(&o->sink, "\n\n");
    }
    for (size_t i = 0; i < o->n_cols; i++) {
        if (o->cols[i].machine)
            continue;
        pk_sink_str(&o->sink, "| ");
        put_safe(o, o->cols[i].heading);
        pk_sink_char(&o->sink, ' ');
    }
    pk_sink_str(&o->sink, "|\n");
    for (size_t i = 0; i < o->n_cols; i++)
        if (!o->cols[i].machine)
            pk_sink_str(&o->sink, o->cols[i].left ? "|:---" : "|---:");
    pk_sink_str(&o->sink, "|\n");
}

static void row(struct pk_out *o, const struct pk_cell *cells)
{
    for (size_t i = 0; i < o->n_cols; i++) {
        if (o->cols[i].machine)
            continue;
        pk_buf_clear(&o->buf);
        pk_text_cell(&o->buf, &o->cols[i], &cells[i]);
        pk_sink_str(&o->sink, "| ");
        put_escaped(o, pk_buf_text(&o->buf));
        pk_sink_char(&o->sink, ' ');
    }
    pk_sink_str(&o->sink, "|\n");
}

/* Each note is a paragraph of its own. */
static void put_notes(struct pk_out *o)
{
    for (size_t i = 0; i < o->n_notes; i++) {
        pk_sink_char(&o->sink, '\n');
        put_safe(o, o->notes[i]);
        pk_sink_char(&o->sink, '\n');
    }
}

static void put_preface(struct pk_out *o)
{
    for (size_t i = 0; i < o->n_notes; i++) {
        put_safe(o, o->notes[i]);
        pk_sink_str(&o->sink, "\n\n");
    }
}

const struct pk_writer pk_writer_markdown = {.people = true,
                                             .preface = put_preface,
                                             .table = table,
                                             .row = row,
                                             .table_end = put_notes,
                                             .end = put_notes};
