/* Json: one object for everything (json) or one object per line and row (jsonl); always valid, base units. */
#include "json/json.h"

#include "out/text.h"
#include "out/writer.h"

#include <math.h>
#include <string.h>

static void put_escape(struct pk_sink *s, uint32_t c)
{
    static const char hex[] = "0123456789abcdef";
    const char escape[6] = {'\\', 'u', hex[c >> 12 & 15], hex[c >> 8 & 15], hex[c >> 4 & 15], hex[c & 15]};
    pk_sink_put(s, escape, sizeof escape);
}

/* What is unsafe in text: ASCII controls have escapes, others are replaced. */
static void put_unsafe(struct pk_sink *s, uint32_t c)
{
    put_escape(s, c <= 0x7f ? c : PK_UTF8_BAD);
}

/* Valid JSON for any bytes: invalid UTF-8 becomes U+FFFD, too. */
static void put_string(struct pk_sink *s, const char *text)
{
    uint32_t c;
    pk_sink_char(s, '"');
    for (size_t n;; text += n) {
        n = 0; /* bytes that need no second thought */
        while (text[n] >= ' ' && text[n] <= '~' && text[n] != '"' && text[n] != '\\')
            n++;
        pk_sink_put(s, text, n);
        text += n;
        if (!*text)
            break;
        n = pk_utf8_next(text, &c);
        if (pk_utf8_unsafe(c) || c == PK_UTF8_BAD) {
            put_unsafe(s, c);
            continue;
        }
        if (c == '"' || c == '\\')
            pk_sink_char(s, '\\');
        pk_sink_put(s, text, n);
    }
    pk_sink_char(s, '"');
}

/* JSON text as it is when it is valid, on one line; else as a string. In valid text, controls are white space
 * between tokens, and whatever else is unsafe stands inside a string, where it may be escaped. */
static void put_value(struct pk_sink *s, const char *text)
{
    PK_JSON_CLEANUP json_t *j = json_loads(text, JSON_DECODE_ANY, NULL);
    if (!j) {
        put_string(s, text);
        return;
    }
    uint32_t c;
    for (size_t n; *text; text += n) {
        n = pk_utf8_next(text, &c);
        if (c <= ' ')
            pk_sink_char(s, ' ');
        else if (pk_utf8_unsafe(c))
            put_unsafe(s, c);
        else
            pk_sink_put(s, text, n);
    }
}

static void put_embedded(struct pk_sink *s, struct pk_memo *memo, const char *text)
{
    if (pk_sink_again(s, memo, text))
        return;
    put_value(s, text);
    pk_sink_remember(s, memo, text);
}

/* Of a column: its key, and its value as JSON text. */
struct column_member {
    struct pk_memo key, embedded;
};

static void begin_members(struct pk_out *o)
{
    struct column_member *m = o->state = pk_new_n(&o->arena, struct column_member, o->n_cols);
    for (size_t i = 0; i < o->n_cols; i++)
        m[i].key.text.arena = m[i].key.written.arena = m[i].embedded.text.arena =
            m[i].embedded.written.arena = &o->arena;
}

static void put_key(struct pk_sink *s, struct pk_memo *memo, const char *key)
{
    if (pk_sink_again(s, memo, key))
        return;
    put_string(s, key);
    pk_sink_char(s, ':');
    pk_sink_remember(s, memo, key);
}

static void put_members(struct pk_out *o, const struct pk_cell *cells)
{
    for (size_t i = 0; i < o->n_cols; i++) {
        struct column_member *m = (struct column_member *)o->state + i;
        if (i)
            pk_sink_char(&o->sink, ',');
        put_key(&o->sink, &m->key, o->cols[i].key);
        if (cells[i].type == PK_CELL_INT)
            pk_sink_int(&o->sink, cells[i].i);
        else if (cells[i].type == PK_CELL_REAL && isfinite(cells[i].f))
            pk_sink_real(&o->sink, cells[i].f);
        else if (cells[i].type != PK_CELL_TEXT)
            pk_sink_str(&o->sink, "null");
        else if (o->cols[i].json)
            put_embedded(&o->sink, &m->embedded, cells[i].s);
        else
            put_string(&o->sink, cells[i].s);
    }
}

static void put_notes(struct pk_out *o)
{
    if (!o->n_notes)
        return;
    pk_sink_str(&o->sink, ",\"notes\":[");
    for (size_t i = 0; i < o->n_notes; i++) {
        if (i)
            pk_sink_char(&o->sink, ',');
        put_string(&o->sink, o->notes[i]);
    }
    pk_sink_char(&o->sink, ']');
}

static void begin(struct pk_out *o)
{
    pk_sink_str(&o->sink, "{\"schema\":1,\"tables\":{");
}

static void table(struct pk_out *o)
{
    pk_sink_str(&o->sink, o->printed > 1 ? ",\n" : "\n");
    put_string(&o->sink, o->name);
    pk_sink_str(&o->sink, ":{\"rows\":[");
    begin_members(o);
}

static void row(struct pk_out *o, const struct pk_cell *cells)
{
    pk_sink_str(&o->sink, o->rows ? ",\n{" : "\n{");
    put_members(o, cells);
    pk_sink_char(&o->sink, '}');
}

static void table_end(struct pk_out *o)
{
    pk_sink_char(&o->sink, ']');
    put_notes(o);
    pk_sink_char(&o->sink, '}');
}

static void end(struct pk_out *o)
{
    pk_sink_char(&o->sink, '}');
    put_notes(o);
    pk_sink_str(&o->sink, "}\n");
}

static void line_row(struct pk_out *o, const struct pk_cell *cells)
{
    pk_sink_str(&o->sink, "{\"table\":");
    put_string(&o->sink, o->name);
    pk_sink_char(&o->sink, ',');
    put_members(o, cells);
    pk_sink_str(&o->sink, "}\n");
}

const struct pk_writer pk_writer_json = {
    .begin = begin, .table = table, .row = row, .table_end = table_end, .end = end};

const struct pk_writer pk_writer_jsonl = {.table = begin_members, .row = line_row};
