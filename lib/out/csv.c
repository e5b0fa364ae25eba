/* Csv: a header of keys, one line per row, base units. Quoting as RFC 4180, lines end in LF. */
#include "out/text.h"
#include "out/writer.h"

#include <math.h>
#include <string.h>

/* What a spreadsheet takes for a formula. */
static bool is_formula(const char *s)
{
    return *s && strchr("=+-@\t\r", *s);
}

static void put_text(struct pk_out *o, const char *s)
{
    const char *mark = o->opt.csv_safe && is_formula(s) ? "'" : "";
    const char *end = s; /* of printable ASCII without quotes and commas, which nearly always is all of it */
    while (*end >= ' ' && *end <= '~' && *end != '"' && *end != ',')
        end++;
    if (*s && !*end && *s != ':') {
        pk_sink_str(&o->sink, mark);
        pk_sink_put(&o->sink, s, (size_t)(end - s));
        return;
    }
    pk_buf_clear(&o->buf);
    pk_text_safe(&o->buf, s);
    pk_sink_char(&o->sink, '"');
    pk_sink_str(&o->sink, mark);
    for (const char *p = pk_buf_text(&o->buf); *p; p++) {
        if (*p == '"')
            pk_sink_char(&o->sink, '"');
        pk_sink_char(&o->sink, *p);
    }
    pk_sink_char(&o->sink, '"');
}

static void table(struct pk_out *o)
{
    if (o->n_names > 1)
        pk_sink_char(&o->sink, '\n');
    for (size_t i = 0; i < o->n_cols; i++) {
        if (i)
            pk_sink_char(&o->sink, ',');
        put_text(o, o->cols[i].key);
    }
    pk_sink_char(&o->sink, '\n');
}

static void row(struct pk_out *o, const struct pk_cell *cells)
{
    for (size_t i = 0; i < o->n_cols; i++) {
        if (i)
            pk_sink_char(&o->sink, ',');
        if (cells[i].type == PK_CELL_INT)
            pk_sink_int(&o->sink, cells[i].i);
        else if (cells[i].type == PK_CELL_REAL && isfinite(cells[i].f))
            pk_sink_real(&o->sink, cells[i].f);
        else if (cells[i].type == PK_CELL_TEXT)
            put_text(o, cells[i].s);
    }
    pk_sink_char(&o->sink, '\n');
}

const struct pk_writer pk_writer_csv = {.table = table, .row = row};
