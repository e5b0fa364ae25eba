/* Chart: from a section of a .sql text to rows that can be drawn. */
#include "store/table/chart.h"

#include "base/err.h"
#include "store/db.h"

#include <string.h>

struct chart_query {
    struct pk_store *s;
    struct pk_arena *a;
    const struct pk_param *params;
    size_t n_params, most; /* charts */
};

enum pk_code pk_chart_columns(struct pk_chart *c, struct pk_err *err)
{
    for (size_t k = 0; k < PK_CHANNELS; k++) {
        const char *key = c->encoding.key[k];
        size_t i = 0;
        while (key && i < c->rows.n_cols && strcmp(c->rows.names[i], key) != 0)
            i++;
        if (key && i == c->rows.n_cols)
            return pk_fail(err, PK_E_INTERNAL, "chart %s: its SELECT has no column '%s'", c->name, key);
        c->at[k] = key ? i : (size_t)PK_CHART_NONE;
    }
    return PK_OK;
}

static enum pk_code read_notes(const struct chart_query *r, const struct pk_section *t, struct pk_chart *c,
                               struct pk_err *err)
{
    size_t cap = 0;
    for (size_t i = 0; i < t->n_notes; i++) {
        struct pk_rows rows;
        if (pk_store_query(r->s, t->notes[i], r->params, r->n_params, r->a, &rows, err))
            return err->code;
        for (size_t k = 0; k < rows.n; k++) {
            const struct pk_cell *note = &rows.cells[k * rows.n_cols];
            if (note->type != PK_CELL_TEXT)
                continue;
            c->notes = pk_grow(r->a, c->notes, sizeof *c->notes, c->n_notes, &cap);
            c->notes[c->n_notes++] = note->s;
        }
    }
    return PK_OK;
}

static enum pk_code read_chart(const struct chart_query *r, const struct pk_section *t, struct pk_chart *c,
                               struct pk_err *err)
{
    struct pk_column *columns;
    *c = (struct pk_chart){.name = t->name, .title = t->title ? t->title : "", .encoding = *t->encoding};
    if (pk_section_read(r->s, t, r->params, r->n_params, r->a, &c->rows, &columns, err))
        return pk_within(err, "chart %s", t->name);
    c->columns = columns;
    return pk_chart_columns(c, err) || read_notes(r, t, c, err) ? err->code : PK_OK;
}

static enum pk_code read_charts(const struct chart_query *r, const struct pk_section *v, size_t n,
                                const char *name, struct pk_chart **charts, size_t *n_charts,
                                struct pk_err *err)
{
    *charts = pk_new_n(r->a, struct pk_chart, n + 1);
    for (size_t i = 0; i < n && *n_charts < r->most; i++) {
        if (v[i].kind != PK_SECTION_CHART || (name && strcmp(name, v[i].name) != 0))
            continue;
        struct pk_chart *c = &(*charts)[*n_charts];
        if (read_chart(r, &v[i], c, err))
            return err->code;
        *n_charts += c->rows.n > 0;
    }
    return PK_OK;
}

static enum pk_code read_text(const struct chart_query *r, const char *text, const char *name,
                              struct pk_chart **charts, size_t *n, struct pk_err *err)
{
    struct pk_section *v;
    size_t n_sections;
    *n = 0;
    r->s->doing = "read a chart";
    if (pk_sections(text, r->a, &v, &n_sections, err))
        return err->code;
    pk_db_limited_begin(r->s, text);
    enum pk_code code = pk_db_make_views(r->s, text, v, n_sections, err);
    if (!code)
        code = read_charts(r, v, n_sections, name, charts, n, err);
    pk_db_limited_end(r->s);
    if (!r->s->narrow)
        pk_db_drop_views(r->s);
    return code;
}

enum pk_code pk_charts_read(struct pk_store *s, const char *text, const char *name,
                            const struct pk_param *params, size_t n_params, struct pk_arena *a,
                            struct pk_chart **charts, size_t *n, struct pk_err *err)
{
    const struct chart_query r = {s, a, params, n_params, SIZE_MAX};
    *n = 0;
    if (!text && !pk_db_text(PK_SECTION_CHART, name, &text))
        return pk_fail(err, PK_E_INTERNAL, "there is no chart '%s'", name);
    return read_text(&r, text, name, charts, n, err);
}

enum pk_code pk_chart_first(struct pk_store *s, const char *text, const struct pk_param *params,
                            size_t n_params, struct pk_arena *a, struct pk_chart **chart, struct pk_err *err)
{
    const struct chart_query r = {s, a, params, n_params, 1};
    size_t n;
    if (read_text(&r, text, NULL, chart, &n, err))
        return err->code;
    *chart = n ? *chart : NULL;
    return PK_OK;
}

const struct pk_cell *pk_chart_cell(const struct pk_chart *c, size_t row, enum pk_channel channel)
{
    static const struct pk_cell none = {.type = PK_CELL_NULL, .s = ""};
    const size_t at = c->at[channel];
    return at == (size_t)PK_CHART_NONE ? &none : &c->rows.cells[row * c->rows.n_cols + at];
}

double pk_chart_number(const struct pk_chart *c, size_t row, enum pk_channel channel)
{
    const double value = pk_cell_number(pk_chart_cell(c, row, channel));
    const size_t at = c->at[channel];
    const double scale = at == (size_t)PK_CHART_NONE ? 0 : c->columns[at].scale;
    return scale > 0 ? value / scale : value;
}

const char *pk_chart_heading(const struct pk_chart *c, enum pk_channel channel)
{
    const size_t at = c->at[channel];
    return at == (size_t)PK_CHART_NONE ? NULL : c->columns[at].heading;
}

bool pk_chart_is_ordinal(const struct pk_chart *c, enum pk_channel channel)
{
    const enum pk_chart_mark mark = c->encoding.mark;
    const bool beside = mark == PK_MARK_BAR || mark == PK_MARK_STACK || mark == PK_MARK_CELLS;
    const bool across = mark == PK_MARK_CELLS || mark == PK_MARK_SPAN || mark == PK_MARK_RANGE;
    if (c->encoding.scale[channel] == PK_SCALE_ORDINAL || (channel == PK_CHANNEL_X && beside) ||
        (channel == PK_CHANNEL_Y && across))
        return true;
    for (size_t row = 0; row < c->rows.n; row++)
        if (pk_chart_cell(c, row, channel)->type == PK_CELL_TEXT)
            return true;
    return false;
}
