/* run --once: one iteration of each case in this very process, nothing repeated, checked or recorded, so that a profiler
 * wrapped around perfkit sees the work and little else. */
#include "cmd/run.h"

#include <string.h>

static const struct pk_column columns[] = {
    {"variant", "Variant", .left = true}, {"axes", "Axes", .left = true, .json = true},
    {"metric", "Metric", .left = true},   {"value", "Value", 0, -1},
    {"unit", "Unit", .left = true},       {"status", "Status", .left = true},
};

static struct pk_cell text(const char *s)
{
    return (struct pk_cell){.type = PK_CELL_TEXT, .s = s};
}

static struct pk_cell value_of(const struct pk_series *s)
{
    return s->integer ? (struct pk_cell){.type = PK_CELL_INT, .i = s->integer[0]}
                      : (struct pk_cell){.type = PK_CELL_REAL, .f = s->real[0]};
}

static void print_slice(struct run *r, const struct pk_planned *p, const struct pk_slice *s)
{
    const char *axes = pk_point_json(&p->c.at, r->app->arena);
    for (size_t i = 0; i < s->n_series; i++) {
        const struct pk_metric_decl *m = &s->metrics[s->series[i].metric];
        const struct pk_cell cells[] = {text(p->variant),        text(axes),    text(m->name),
                                        value_of(&s->series[i]), text(m->unit), text("ok")};
        pk_out_row(r->app->out, cells);
    }
    if (s->status != PK_ST_OK) {
        const struct pk_cell cells[] = {
            text(p->variant), text(axes), {0}, {0}, {0}, text(pk_status_name(s->status))};
        pk_out_row(r->app->out, cells);
        pk_out_note(r->app->out, s->message);
    }
}

enum pk_code pk_run_once(struct run *r, struct pk_err *err)
{
    pk_run_choose_device(r);
    enum pk_code rc = pk_run_make_plan(r, err);
    struct pk_device dev;
    if (!rc)
        rc = pk_device_open(&dev, r->device, &r->device_options, err);
    if (rc)
        return rc;
    pk_out_table(r->app->out, "once", NULL, columns, sizeof columns / sizeof *columns);
    size_t ok = 0;
    for (size_t i = 0; i < r->plan.n && !pk_stop_flag; i++) {
        const struct pk_planned *p = &r->plan.v[i];
        if (p->skip || p->over_limit || p->provider)
            continue;
        struct pk_arena a = {0};
        struct pk_slice slice;
        const struct pk_measure m = {.c = &p->c,
                                     .dev = &dev,
                                     .pass = PK_PASS_TIMING,
                                     .invocation = 1,
                                     .seed = (uint64_t)r->o->seed,
                                     .stop = pk_run_stop_rule(r->o)};
        pk_measure_case(&m, &a, &slice);
        ok += slice.status == PK_ST_OK;
        print_slice(r, p, &slice);
        pk_arena_free(&a);
    }
    pk_device_close(&dev);
    if (pk_stop_flag)
        return pk_fail(err, PK_E_INTERRUPTED, "interrupted: %zu of %zu cases ran", ok, r->plan.n);
    return ok ? PK_OK : pk_fail(err, PK_E_NOTHING, "no case ran");
}
