/* Column: of figures, whose unit is known only from the store. */
#include "judge/report/report.h"

#include "base/text/buf.h"
#include "base/text/units.h"

#include <string.h>

#define COUNT(v) (sizeof(v) / sizeof *(v))

/* How figures of a unit are shown: one display unit for the whole table, finer when its smallest would have no digits left. */
static const struct {
    const char *base, *usual, *finer;
} displays[] = {{"ns", "ms", "us"}, {"bytes", "MB", "KB"}};

const char *pk_key_tail(const char *unit, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    if (strcmp(unit, "1") != 0)
        pk_buf_char(&b, '_');
    for (; *unit && b.n; unit++) {
        if (*unit == '/')
            pk_buf_str(&b, "_per_");
        else
            pk_buf_char(&b, strchr(" .-%", *unit) ? '_' : *unit);
    }
    return pk_buf_text(&b);
}

void pk_value_column(struct pk_column *col, const char *unit, double least, struct pk_arena *a)
{
    const struct pk_unit *u = NULL;
    for (size_t i = 0; i < COUNT(displays); i++)
        if (strcmp(displays[i].base, unit) == 0)
            u = pk_unit_find(unit, displays[i].usual);
    for (size_t i = 0; u && i < COUNT(displays); i++)
        if (strcmp(displays[i].base, unit) == 0 && least < u->scale / 100)
            u = pk_unit_find(unit, displays[i].finer);
    col->tail = pk_key_tail(unit, a);
    if (u) {
        col->heading = pk_printf(a, "%s (%s)", col->heading, strcmp(u->shown, "us") ? u->shown : "µs");
        col->scale = u->scale;
        col->decimals = 3;
    } else if (strcmp(unit, "1") != 0) {
        col->heading = pk_printf(a, "%s (%s)", col->heading, unit);
    }
}

void pk_put_figure(struct pk_row *row, const char *place, const struct pk_figures *f)
{
    pk_put_nonempty(row, "case", place);
    pk_put_nonempty(row, "metric", f->metric);
    pk_put_nonempty(row, "unit", f->unit);
    pk_put_nonempty(row, "direction", f->direction);
    pk_put_nonempty(row, "device", f->device);
    pk_put_nonempty(row, "axes", f->axes);
}
