/* Compare, counters: counter readings of both sides, one table per unit. */
#include "cmd/compare/rows.h"

#include "cmd/compare/value_column.h"

#include <math.h>
#include <string.h>

enum { VARIANT, VALUE, PLACE, REGION, COUNTER, GROUP, UNIT, DEVICE, AXES, BASE, NEW, RATIO, COLUMNS };

static const struct pk_column columns[COLUMNS] = {
    [VARIANT] = {.key = "variant", .heading = "Variant", .left = true},
    [VALUE] = {.key = "value", .heading = "Value", .left = true, .machine = true},
    [PLACE] = {.key = "case", .heading = "Case", .left = true},
    [REGION] = {.key = "region", .heading = "Region", .left = true},
    [COUNTER] = {.key = "counter", .heading = "Counter", .left = true},
    [GROUP] = {.key = "group", .heading = "Group", .left = true, .optional = 1},
    [UNIT] = {.key = "unit", .heading = "Unit", .left = true, .machine = true},
    [DEVICE] = {.key = "device", .heading = "Device", .left = true, .machine = true},
    [AXES] = {.key = "axes", .heading = "Axes", .left = true, .json = true, .machine = true},
    [BASE] = {.key = "base", .heading = "Base", .decimals = -1},
    [NEW] = {.key = "new", .heading = "New", .decimals = -1},
    [RATIO] = {.key = "ratio", .heading = "New / base", .decimals = 3},
};

static struct pk_cell text(const char *s)
{
    return (struct pk_cell){.type = s && *s ? PK_CELL_TEXT : PK_CELL_NULL, .s = s};
}

static struct pk_cell real(double f)
{
    return (struct pk_cell){.type = PK_CELL_REAL, .f = f};
}

static bool is_of(const struct pk_compared *c, const char *unit)
{
    return !c->hidden && !strcmp(c->new_->unit, unit);
}

static void begin_table(struct pk_out *out, const struct pk_comparison *c, const char *by, const char *unit,
                        struct pk_arena *a)
{
    struct pk_column cols[COLUMNS];
    double least = INFINITY;
    for (size_t i = 0; i < c->n; i++)
        if (is_of(&c->v[i], unit))
            least = fmin(least, fmin(c->v[i].base->median, c->v[i].new_->median));
    memcpy(cols, columns, sizeof cols);
    pk_value_column(&cols[BASE], unit, least, a);
    pk_value_column(&cols[NEW], unit, least, a);
    if (by) {
        cols[VALUE].heading = by;
        cols[VALUE].machine = false;
        cols[VARIANT].machine = strcmp(by, "variant") == 0;
    }
    pk_out_table(out, pk_printf(a, "counters%s", pk_key_tail(unit, a)),
                 by ? pk_printf(a, "Counters, each %s against %s", by, c->base_value)
                    : "Counters, new against base",
                 cols, COLUMNS);
}

static void count_row(struct pk_out *out, const struct pk_compared *p, struct pk_arena *a)
{
    const struct pk_figures *f = p->new_;
    const size_t region = strcspn(f->metric, "."), group = *f->class ? strlen(f->class) + 1 : 0;
    pk_out_row(out, (struct pk_cell[COLUMNS]){
                        [VARIANT] = text(f->variant),
                        [VALUE] = text(p->value),
                        [PLACE] = text(p->place),
                        [REGION] = text(pk_strndup(a, f->metric, region)),
                        [COUNTER] = text(f->metric + region + 1 + group),
                        [GROUP] = text(f->class),
                        [UNIT] = text(f->unit),
                        [DEVICE] = text(f->device),
                        [AXES] = text(f->axes),
                        [BASE] = real(p->base->median),
                        [NEW] = real(f->median),
                        [RATIO] = real(p->ratio.ratio),
                    });
}

void pk_compare_print_counters(struct pk_out *out, const struct pk_comparison *c, const char *by,
                               struct pk_arena *a)
{
    bool any = false;
    for (size_t i = 0; i < c->n; i++) {
        size_t earlier = 0;
        while (!is_of(&c->v[earlier], c->v[i].new_->unit) && earlier < i)
            earlier++;
        if (c->v[i].hidden || earlier < i)
            continue;
        begin_table(out, c, by, c->v[i].new_->unit, a);
        any = true;
        for (size_t k = i; k < c->n; k++)
            if (is_of(&c->v[k], c->v[i].new_->unit))
                count_row(out, &c->v[k], a);
    }
    if (any)
        pk_out_note(out, "Counts are medians per iteration of a counter pass each: they show where to look, "
                         "and get no verdict.");
}
