/* Comparison, counters: counter readings of both sides, one table per unit. */
#include "judge/report/comparison.h"

#include "judge/report/report.h"

#include <string.h>

static const struct pk_column columns[] = {
    {.key = "variant", .heading = "Variant", .left = true},
    {.key = "value", .heading = "Value", .left = true, .machine = true},
    {.key = "case", .heading = "Case", .left = true},
    {.key = "region", .heading = "Region", .left = true},
    {.key = "counter", .heading = "Counter", .left = true},
    {.key = "group", .heading = "Group", .left = true, .optional = 1},
    {.key = "unit", .heading = "Unit", .left = true, .machine = true},
    {.key = "device", .heading = "Device", .left = true, .machine = true},
    {.key = "axes", .heading = "Axes", .left = true, .json = true, .machine = true},
    {.key = "base", .heading = "Base", .decimals = -1},
    {.key = "new", .heading = "New", .decimals = -1},
    {.key = "ratio", .heading = "New / base", .decimals = 3},
};

static bool is_of(const struct pk_compared *c, const char *unit)
{
    return !c->hidden && !strcmp(c->new_->unit, unit);
}

static void begin_table(struct pk_out *out, const struct pk_comparison *c, const char *by, const char *unit,
                        struct pk_arena *a)
{
    pk_out_table(
        out, pk_printf(a, "counters%s", pk_key_tail(unit, a)),
        by ? pk_printf(a, "Counters, each %s against %s", by, c->base_value) : "Counters, new against base",
        pk_compare_columns(c, PK_COLUMNS(columns), by, unit, false, a), sizeof columns / sizeof *columns);
}

static void count_row(struct pk_out *out, const struct pk_compared *p, struct pk_arena *a)
{
    const struct pk_figures *f = p->new_;
    const size_t region = strcspn(f->metric, "."), group = *f->class ? strlen(f->class) + 1 : 0;
    struct pk_row *row = pk_row_begin(out);
    pk_put_nonempty(row, "variant", f->variant);
    pk_put_nonempty(row, "value", p->value);
    pk_put_nonempty(row, "case", p->place);
    pk_put_nonempty(row, "region", pk_strndup(a, f->metric, region));
    pk_put_nonempty(row, "counter", f->metric + region + 1 + group);
    pk_put_nonempty(row, "group", f->class);
    pk_put_nonempty(row, "unit", f->unit);
    pk_put_nonempty(row, "device", f->device);
    pk_put_nonempty(row, "axes", f->axes);
    pk_put_real(row, "base", p->base->median);
    pk_put_real(row, "new", f->median);
    pk_put_real(row, "ratio", p->ratio.ratio);
    pk_row_end(row);
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
        pk_out_note(out, "Each count is the median per iteration of one counter pass: counts show where to "
                         "look and get no verdict.");
}
