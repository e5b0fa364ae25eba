/* run --dry-run: prints the plan as a table, and what is not known about it. */
#include "cmd/run/run.h"

#include "base/text/units.h"
#include "base/text/words.h"
#include "bench/plan/declared_work.h"

#include <math.h>
#include <string.h>

/* Columns of the plan: these, what the probe knows of a case beforehand, and those. */
static const struct pk_column columns_before[] = {
    {.key = "variant", .heading = "Variant", .left = true},
    {.key = "case", .heading = "Case", .left = true},
};
static const struct pk_column columns_after[] = {
    {.key = "predicted_bytes", .heading = "Memory", .decimals = 3},
    {.key = "floor_ns", .heading = "Floor", .decimals = 3, .optional = 1},
    {.key = "expected_ns", .heading = "Est. time", .decimals = 1},
    {.key = "status", .heading = "Status", .left = true},
    {.key = "axes", .heading = "Axes", .json = true, .machine = true},
};
enum {
    N_BEFORE = sizeof columns_before / sizeof *columns_before,
    N_AFTER = sizeof columns_after / sizeof *columns_after,
    PLAN_COLUMNS_MAX = N_BEFORE + PK_GAUGES_MAX + N_AFTER
};

static void put_count(struct pk_row *row, const char *key, double x)
{
    if (!isnan(x))
        pk_put_int(row, key, (int64_t)x);
}

/* A GPU's memory is known once it is opened, which planning does not do. */
static bool memory_known(const struct pk_run *r)
{
    return r->plan.limit_bytes || r->plan.kind != PK_DEVICE_CUDA;
}

const char *pk_run_outlook(const struct pk_run *r, const struct pk_planned_case *p, struct pk_arena *a)
{
    if (p->skip)
        return p->skip;
    if (!p->too_large && r->device_unavailable)
        return memory_known(r) ? "measured on a machine with the device"
                               : "measured on a machine with the device, if it fits";
    if (!p->too_large)
        return memory_known(r) ? "measured" : "measured if it fits";
    char size[32] = "";
    if (p->predicted_bytes == PK_BYTES_BEYOND)
        pk_format_bytes(p->predicted_bytes, size, sizeof size);
    return pk_printf(a, "out of memory: %s%snot tried%s%s", size, *size ? ", " : "", p->would_fit ? "; " : "",
                     p->would_fit ? p->would_fit : "");
}

const char *pk_run_device_note(const struct pk_run *r)
{
    struct pk_arena *a = r->arena;
    const char *unavailable =
        r->device_unavailable
            ? pk_printf(a, "%s cannot be used here: %s. The plan is for a machine that has it.", r->device,
                        r->device_unavailable)
            : "";
    if (memory_known(r))
        return *unavailable ? unavailable : NULL;
    return pk_printf(
        a, "%s%sThe memory of %s is not known: use --memory-limit to see which cases would not fit.",
        unavailable, *unavailable ? " " : "", r->device);
}

void pk_run_case_table(const struct pk_run *r, const char *name, const struct pk_column *cols, size_t n)
{
    struct pk_arena *a = r->arena;
    const char *common = pk_case_plan_common_text(&r->plan, a);
    struct pk_column *mine = pk_columns_copy(a, cols, n);
    pk_column_of(mine, n, "case")->machine = !*pk_case_plan_case_text(&r->plan, 0, a);
    pk_out_table(pk_run_app(r)->out, name,
                 pk_printf(a, "%s on %s, preset %s%s%s", r->probe->name, r->device, r->plan.preset->name,
                           *common ? ", all with " : "", common),
                 mine, n);
}

static double expected_ns(const struct pk_run *r, size_t i)
{
    return r->duration.case_ns[i] > 0 ? r->duration.case_ns[i] : NAN;
}

/* None where it is more than can be counted, which a text says. */
static double predicted_bytes(const struct pk_planned_case *p)
{
    return p->predicted_bytes < 0 || p->predicted_bytes == PK_BYTES_BEYOND ? NAN : (double)p->predicted_bytes;
}

/* The unit that suits the largest number of a column. */
static void choose_unit(struct pk_column *c, const char *base, const char *units, double most,
                        struct pk_arena *a)
{
    const struct pk_unit *u = pk_unit_fit(base, units, most);
    c->heading = pk_printf(a, "%s (%s)", c->heading, u->shown);
    c->scale = u->scale;
}

static void choose_units(const struct pk_run *r, struct pk_column *cols, size_t n)
{
    struct pk_arena *a = r->arena;
    double bytes = 0, floor_ns = 0, expected = 0; /* the most of each; fmax leaves out what is not known */
    for (size_t i = 0; i < r->plan.n; i++) {
        bytes = fmax(bytes, predicted_bytes(&r->plan.v[i]));
        floor_ns = fmax(floor_ns, r->plan.v[i].floor_ns);
        expected = fmax(expected, expected_ns(r, i));
    }
    choose_unit(pk_column_of(cols, n, "predicted_bytes"), "bytes", "GB TB", bytes, a);
    choose_unit(pk_column_of(cols, n, "floor_ns"), "ns", "ms s h", floor_ns, a);
    choose_unit(pk_column_of(cols, n, "expected_ns"), "ns", "s h", expected, a);
}

static size_t plan_columns(const struct pk_run *r, struct pk_column *cols)
{
    size_t n = N_BEFORE;
    memcpy(cols, columns_before, sizeof columns_before);
    for (const struct pk_metric *m = r->probe->metrics; m && m->name; m++) {
        const bool bytes = m->planned && !strcmp(m->unit, "bytes");
        if (m->planned)
            cols[n++] = (struct pk_column){
                .key = m->name, .heading = m->planned, .scale = bytes ? 1e6 : 0, .decimals = bytes ? 3 : -1};
    }
    memcpy(cols + n, columns_after, sizeof columns_after);
    choose_units(r, cols, n + N_AFTER);
    return n + N_AFTER;
}

static void plan_row(const struct pk_run *r, size_t i)
{
    const struct pk_planned_case *p = &r->plan.v[i];
    struct pk_arena *a = r->arena;
    struct pk_row *row = pk_row_begin(pk_run_app(r)->out);
    pk_put_text(row, "variant", p->variant);
    pk_put_text(row, "case", pk_case_plan_case_text(&r->plan, i, a));
    for (const struct pk_metric *m = r->probe->metrics; m && m->name; m++)
        if (m->planned)
            put_count(row, m->name, pk_planned_case_value(p, m));
    put_count(row, "predicted_bytes", predicted_bytes(p));
    pk_put_real(row, "floor_ns", p->floor_ns);
    pk_put_real(row, "expected_ns", expected_ns(r, i));
    pk_put_text(row, "status", pk_run_outlook(r, p, a));
    pk_put_text(row, "axes", pk_point_json(&p->c.at, a));
    pk_row_end(row);
}

void pk_run_print_plan(const struct pk_run *r)
{
    const struct pk_duration *e = &r->duration;
    struct pk_arena *a = r->arena;
    struct pk_column cols[PLAN_COLUMNS_MAX];
    pk_run_case_table(r, "plan", cols, plan_columns(r, cols));
    for (size_t i = 0; i < r->plan.n; i++)
        plan_row(r, i);
    pk_out_note(pk_run_app(r)->out, pk_run_extent(r));
    if (pk_run_device_note(r))
        pk_out_note(pk_run_app(r)->out, pk_run_device_note(r));
    if (pk_run_fitting_text(r))
        pk_out_note(pk_run_app(r)->out, pk_run_fitting_text(r));
    if (e->unknown && r->plan.kind != PK_DEVICE_NULL)
        pk_out_note(pk_run_app(r)->out,
                    "Times can be estimated when the device's ceilings have been measured: by "
                    "the first run, or by `perfkit doctor --ceilings`.");
    else if (e->stored)
        pk_out_note(pk_run_app(r)->out,
                    pk_printf(a, "The time of %s is from the newest run on this machine that measured them.",
                              pk_plural(e->stored, "case", a)));
}
