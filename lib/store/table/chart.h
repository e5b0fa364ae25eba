/* Chart: the charts of a text with the rows that they draw, read once for a page (lib/report) or a terminal.
 *
 * A chart is a section of a .sql text (store/table/table.h): SQL, column rows, and an encoding, which says which column is x, y, colour and so
 * on. Nothing here knows how it is drawn. A row whose y is NULL has no mark; its label, if there is one, stands in its place. Everything is
 * in the caller's arena.
 *
 *     struct pk_chart *v;
 *     size_t n;
 *     pk_charts_read(s, pk_probe_sql(probe), NULL, PK_PARAMS(params), a, &v, &n, err);
 *     for (size_t row = 0; row < v[0].rows.n; row++)
 *         draw(pk_chart_number(&v[0], row, PK_CHANNEL_X), pk_chart_number(&v[0], row, PK_CHANNEL_Y)); */
#pragma once

#include "store/table/table.h"

struct pk_chart {
    const char *name, *title; /* title: "" = none */
    struct pk_encoding encoding;
    size_t at[PK_CHANNELS];          /* the column of each channel; PK_CHART_NONE = not encoded */
    const struct pk_column *columns; /* of all columns: heading, scale, left = a text */
    struct pk_rows rows;             /* base units; n > 0 */
    const char **notes;
    size_t n_notes;
};
enum { PK_CHART_NONE = -1 };

/* The charts of a text that have rows, in its order; name: only this one, NULL = all. A text of NULL is that of lib in which the name
 * is. PK_E_INTERNAL for a text that is wrong, as a channel whose column the SELECT does not have. */
enum pk_code pk_charts_read(struct pk_store *s, const char *text, const char *name,
                            const struct pk_param *params, size_t n_params, struct pk_arena *a,
                            struct pk_chart **charts, size_t *n, struct pk_err *err) PK_MUST_CHECK;

/* The first of them, for which no other is read; NULL when none has rows. */
enum pk_code pk_chart_first(struct pk_store *s, const char *text, const struct pk_param *params,
                            size_t n_params, struct pk_arena *a, struct pk_chart **chart,
                            struct pk_err *err) PK_MUST_CHECK;

/* Sets c->at from c->encoding.key and c->rows.names, for a chart whose rows are made, not read. */
enum pk_code pk_chart_columns(struct pk_chart *c, struct pk_err *err) PK_MUST_CHECK;

/* The value of a channel in a row. */
const struct pk_cell *pk_chart_cell(const struct pk_chart *c, size_t row, enum pk_channel channel);
/* The same in the display unit of its column; NaN where there is none, or it is a text. */
double pk_chart_number(const struct pk_chart *c, size_t row, enum pk_channel channel);
/* What names the channel: the heading of its column; NULL = it is not encoded. */
const char *pk_chart_heading(const struct pk_chart *c, enum pk_channel channel);
/* Whether the values of a channel are places beside each other, in the order of the rows, not numbers on an axis. */
bool pk_chart_is_ordinal(const struct pk_chart *c, enum pk_channel channel);
