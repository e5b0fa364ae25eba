/* Csv: a header of keys, one line per row, base units; members of JSON objects at its end. Quoting as RFC 4180, lines end in LF. */
#include "out/text.h"
#include "out/writer.h"
#include "json/json.h"

#include <math.h>
#include <string.h>

/* What a spreadsheet takes for a formula; in some languages also where the sign is a full-width one: U+FF0B, U+FF0D, U+FF1D, U+FF20. */
static bool is_formula(const char *s)
{
    uint32_t code;
    pk_utf8_next(s, &code);
    return *s &&
           (strchr("=+-@\t\r\n", *s) || code == 0xff0b || code == 0xff0d || code == 0xff1d || code == 0xff20);
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

static void put_member(struct pk_out *o, const json_t *v)
{
    if (json_is_integer(v))
        pk_sink_int(&o->sink, json_integer_value(v));
    else if (json_is_real(v))
        pk_sink_real(&o->sink, json_real_value(v));
    else if (json_is_string(v))
        put_text(o, json_string_value(v));
    else if (json_is_boolean(v))
        pk_sink_str(&o->sink, json_is_true(v) ? "true" : "false");
    else if (v && !json_is_null(v)) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        put_text(o, pk_json_text(&a, v, PK_JSON_COMPACT));
    }
}

/* A text that is no object has no members. */
static void put_members(struct pk_out *o, const struct pk_column *c, const char *object, struct pk_memo *memo)
{
    if (pk_sink_again(&o->sink, memo, object))
        return;
    PK_JSON_CLEANUP json_t *j = json_loads(object, 0, NULL);
    for (const char *const *name = c->members; *name; name++) {
        pk_sink_char(&o->sink, ',');
        put_member(o, json_object_get(j, *name));
    }
    pk_sink_remember(&o->sink, memo, object);
}

static bool is_key(const struct pk_out *o, const char *name)
{
    size_t i = 0;
    while (i < o->n_cols && (o->cols[i].nested || strcmp(o->cols[i].key, name) != 0))
        i++;
    return i < o->n_cols;
}

static void put_names(struct pk_out *o, const struct pk_column *c)
{
    for (const char *const *name = c->members; name && *name; name++) {
        pk_sink_char(&o->sink, ',');
        put_text(o, is_key(o, *name) ? pk_printf(&o->arena, "%s.%s", c->key, *name) : *name);
    }
}

static void table(struct pk_out *o)
{
    struct pk_memo *memos = o->state = pk_new_n(&o->arena, struct pk_memo, o->n_cols);
    if (o->printed > 1 && !o->opt.next_file)
        pk_sink_char(&o->sink, '\n');
    const char *comma = "";
    for (size_t i = 0; i < o->n_cols; i++) {
        memos[i].text.arena = memos[i].written.arena = &o->arena;
        if (o->cols[i].nested)
            continue;
        pk_sink_str(&o->sink, comma);
        put_text(o, o->cols[i].key);
        comma = ",";
    }
    for (size_t i = 0; i < o->n_cols; i++)
        put_names(o, &o->cols[i]);
    pk_sink_char(&o->sink, '\n');
}

static void row(struct pk_out *o, const struct pk_cell *cells)
{
    bool first = true;
    for (size_t i = 0; i < o->n_cols; i++) {
        if (o->cols[i].nested)
            continue;
        if (!first)
            pk_sink_char(&o->sink, ',');
        first = false;
        if (cells[i].type == PK_CELL_INT)
            pk_sink_int(&o->sink, cells[i].i);
        else if (cells[i].type == PK_CELL_REAL && isfinite(cells[i].f))
            pk_sink_real(&o->sink, cells[i].f);
        else if (cells[i].type == PK_CELL_TEXT)
            put_text(o, cells[i].s);
    }
    for (size_t i = 0; i < o->n_cols; i++)
        if (o->cols[i].members)
            put_members(o, &o->cols[i], pk_cell_string(&cells[i]), (struct pk_memo *)o->state + i);
    pk_sink_char(&o->sink, '\n');
}

const struct pk_writer pk_writer_csv = {.table = table, .row = row};
