/* Html table: the writer of tables in a page. */
#include "report/parts.h"

#include "out/text.h"
#include "out/writer.h"
#include "report/html.h"

#include <string.h>

static const char *class_of(const struct pk_column *c, const char *text)
{
    switch (c->state ? pk_style_of_word(text) : PK_STYLE_PLAIN) {
    case PK_STYLE_GOOD:
        return "l good";
    case PK_STYLE_BAD:
        return "l bad";
    case PK_STYLE_DOUBT:
        return "l doubt";
    default:
        return c->left ? "l" : "";
    }
}

static void put_cell(struct pk_out *o, const struct pk_column *c, const struct pk_cell *cell)
{
    enum { LONG_TEXT = 28 };
    pk_buf_clear(&o->buf);
    pk_text_cell(&o->buf, c, cell);
    const char *text = pk_buf_text(&o->buf), *class = class_of(c, text);
    if (*class)
        pk_html(o->sink.f, "<td class=\"%%\">%", class, c->left && o->buf.n > LONG_TEXT ? " t" : "", text);
    else
        pk_html(o->sink.f, "<td>%", text);
}

/* The sentences of this table are a list. */
static bool is_findings(const struct pk_out *o)
{
    return strcmp(o->given_name, "findings") == 0;
}

void pk_page_put_between(struct pk_page_tables *t)
{
    for (int c; t->between && (c = getc(t->between)) != EOF;)
        putc(c, t->page->f);
    t->between = NULL;
}

/* What stands above all tables, and the element that folds this one. */
static void begin(struct pk_page_tables *t, const char *name, const char *title)
{
    pk_page_put_between(t);
    const bool open = !t->headline || strcmp(t->headline, name) == 0;
    pk_html(t->page->f, open ? "<details open><summary>%</summary>\n" : "<details><summary>%</summary>\n",
            title);
}

/* What the sink has is out: a table begins in a file of its own (pk_out_options.next_file), which here is always the page. */
static void table(struct pk_out *o)
{
    FILE *f = o->sink.f;
    const char *title = o->title ? o->title : o->given_name;
    if (is_findings(o)) {
        pk_html(f, "<ol class=\"findings\">\n");
        return;
    }
    begin(o->opt.files, o->given_name, title);
    pk_html(f,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%\"><table data-name=\"%\">\n"
            "<thead><tr>",
            title, o->name);
    for (size_t i = 0; i < o->n_cols; i++)
        if (!o->cols[i].machine)
            pk_html(f, o->cols[i].left ? "<th scope=\"col\" class=\"l\">%" : "<th scope=\"col\">%",
                    o->cols[i].heading);
    pk_html(f, "</tr></thead>\n<tbody>\n");
}

static void row(struct pk_out *o, const struct pk_cell *cells)
{
    const struct pk_column *sentence =
        is_findings(o) ? pk_column_of((struct pk_column *)o->cols, o->n_cols, "sentence") : NULL;
    if (o->rows >= PK_PAGE_ROWS)
        return;
    pk_html(o->sink.f, sentence ? "<li>" : "<tr>");
    for (size_t i = 0; i < o->n_cols; i++)
        if (&o->cols[i] == sentence)
            pk_html(o->sink.f, "%</li>", pk_cell_string(&cells[i]));
        else if (!sentence && !o->cols[i].machine)
            put_cell(o, &o->cols[i], &cells[i]);
    pk_html(o->sink.f, "\n");
}

static void put_notes(struct pk_out *o)
{
    for (size_t i = 0; i < o->n_notes; i++)
        pk_html(o->sink.f, "<p class=\"note\">%</p>\n", o->notes[i]);
}

static void table_end(struct pk_out *o)
{
    const bool findings = is_findings(o);
    pk_html(o->sink.f, findings ? "</ol>\n" : "</tbody></table></div>\n");
    if (o->rows > PK_PAGE_ROWS)
        pk_html(
            o->sink.f, "<p class=\"note\">The first % of % rows. All of them: perfkit show --tables %</p>\n",
            pk_printf(&o->arena, "%d", PK_PAGE_ROWS), pk_printf(&o->arena, "%zu", o->rows), o->given_name);
    put_notes(o);
    pk_html(o->sink.f, findings ? "" : "</details>\n");
}

static const struct pk_writer writer = {.people = true,
                                        .preface = put_notes,
                                        .table = table,
                                        .row = row,
                                        .table_end = table_end,
                                        .end = put_notes};

static FILE *file_of(void *files, const char *table)
{
    const struct pk_page_tables *t = files;
    return t->page->f;
}

struct pk_out *pk_page_out(struct pk_page_tables *t)
{
    const struct pk_out_options options = {.format = PK_FMT_MARKDOWN,
                                           .writer = &writer,
                                           .next_file = file_of,
                                           .files = t,
                                           .stop_flag = t->page->report->stop_flag};
    return pk_out_open(t->page->f, &options);
}
