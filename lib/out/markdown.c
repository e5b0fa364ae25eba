/* Markdown: GitHub-flavoured tables with headings and display units. */
#include "out/text.h"
#include "out/writer.h"

#include <ctype.h>
#include <string.h>

/* What makes links, images, mentions, tags and columns of a text: it is shown as what it is. A zero-width space behind '@' ends a mention,
 * which GitHub would also find behind an entity. */
static void put_escaped(struct pk_out *o, const char *s)
{
    static const struct {
        const char *text, *as;
    } escapes[] = {{"<", "&lt;"}, {"&", "&amp;"}, {"|", "\\|"},       {"\\", "\\\\"},
                   {"[", "\\["},  {"]", "\\]"},   {"://", "&#58;//"}, {"www.", "www&#46;"}};
    while (*s) {
        size_t i = 0, n = sizeof escapes / sizeof *escapes;
        while (i < n && strncmp(s, escapes[i].text, strlen(escapes[i].text)) != 0)
            i++;
        if (i < n) {
            pk_sink_str(&o->sink, escapes[i].as);
            s += strlen(escapes[i].text);
            continue;
        }
        pk_sink_char(&o->sink, *s);
        if (*s == '@' && isalnum((unsigned char)s[1]))
            pk_sink_str(&o->sink, "&#8203;");
        s++;
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
    if (o->printed > 1)
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
