/* run --profile N: iterations of each case in this process, without check or recording, for use under a profiler. */
#include "base/text/words.h"
#include "cmd/run/run.h"
#include "stats/stats.h"

#include <math.h>

static const struct pk_column columns[] = {
    {.key = "variant", .heading = "Variant", .left = true},
    {.key = "case", .heading = "Case", .left = true},
    {.key = "metric", .heading = "Metric", .left = true},
    {.key = "value", .heading = "Value", .decimals = -1},
    {.key = "unit", .heading = "Unit", .left = true},
    {.key = "status", .heading = "Status", .left = true, .state = true},
    {.key = "axes", .heading = "Axes", .json = true, .machine = true},
};

static void put_median(struct pk_row *row, const struct pk_series *s, struct pk_arena *a)
{
    double *v = pk_new_n(a, double, s->n);
    for (size_t i = 0; i < s->n; i++)
        v[i] = s->integer ? (double)s->integer[i] : s->real[i];
    const double median = pk_median_of(v, s->n);
    pk_put(row, "value", s->integer ? pk_cell_int(llround(median)) : pk_cell_real(median));
}

/* Its row of a metric, or without one. */
static void case_row(struct pk_run *r, const struct pk_planned_case *p, enum pk_status status,
                     const struct pk_metric_decl *m, const struct pk_series *s)
{
    struct pk_row *row = pk_row_begin(pk_run_app(r)->out);
    pk_put_text(row, "variant", p->variant);
    pk_put_text(row, "case", pk_case_plan_case_text(&r->plan, (size_t)(p - r->plan.v), r->arena));
    if (m) {
        pk_put_text(row, "metric", m->name);
        put_median(row, s, r->arena);
        pk_put_text(row, "unit", m->unit);
    }
    pk_put_text(row, "status", pk_status_name(status));
    pk_put_text(row, "axes", pk_point_json(&p->c.at, r->arena));
    pk_row_end(row);
}

static void print_unmeasured(struct pk_run *r, const struct pk_planned_case *p, enum pk_status status,
                             const char *why)
{
    case_row(r, p, status, NULL, NULL);
    pk_out_note(pk_run_app(r)->out,
                pk_printf(r->arena, "%s %s: %s", p->variant, pk_point_text(&p->c.at, NULL, r->arena), why));
}

static enum pk_status measure(struct pk_run *r, struct pk_device *dev, const struct pk_planned_case *p)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_slice slice;
    if (p->skip || p->too_large) {
        const enum pk_status status = p->skip ? PK_ST_SKIPPED : PK_ST_OOM;
        print_unmeasured(r, p, status, p->skip ? p->skip : p->too_large);
        return status;
    }
    const struct pk_measure m = {.c = &p->c,
                                 .dev = dev,
                                 .pass = PK_PASS_TIMING,
                                 .invocation = 1,
                                 .seed = (uint64_t)r->o->seed,
                                 .stop = pk_run_stop_rule(r->o)};
    pk_measure_case(&m, &a, &slice);
    for (size_t i = 0; i < slice.n_series; i++)
        if (slice.series[i].phase == PK_PHASE_STEADY) /* those in the profiler's range */
            case_row(r, p, PK_ST_OK, &slice.metrics[slice.series[i].metric], &slice.series[i]);
    if (slice.status != PK_ST_OK)
        print_unmeasured(r, p, slice.status, slice.message);
    return slice.status;
}

/* The exit status, when the table has been filled. */
static enum pk_code judge(const struct pk_run *r, size_t ok, size_t failed, size_t oom, struct pk_err *err)
{
    if (pk_stop_flag) {
        pk_fail(err, PK_E_INTERRUPTED, "interrupted: %zu of %s ran", ok,
                pk_plural(r->plan.n, "case", r->arena));
        pk_why(err, "a signal stopped perfkit");
        return pk_fix(err, "run it again; a run with --profile stores nothing");
    }
    if (failed) {
        pk_fail(err, PK_E_CHECK, "%zu of %s failed", failed, pk_plural(r->plan.n, "case", r->arena));
        pk_why(err, "the notes under the table say why");
        return pk_fix(err, "exclude them with --variant, -a or --filter");
    }
    if (ok)
        return PK_OK;
    pk_fail(err, PK_E_NOTHING, "no case ran");
    if (!oom) {
        pk_why(err, "every case of this grid is skipped; the notes under the table say why");
        return pk_fix(err, "choose other values with -a, another --variant or another --device");
    }
    pk_why(err, "every case of this grid is out of memory or skipped");
    return pk_fix(err, "choose smaller sizes with -a");
}

const char *pk_run_profile_option(const struct pk_run *r)
{
    return r->o->once ? "once" : "profile";
}

/* Cases of ranks that are processes have none here; this is reported for all at once, not case by case. */
static enum pk_code refuse_ranks(const struct pk_run *r, struct pk_err *err)
{
    for (size_t i = 0; i < r->plan.n; i++) {
        const struct pk_planned_case *p = &r->plan.v[i];
        if (p->skip || !p->ranks)
            continue;
        pk_fail(err, PK_E_USAGE, "--%s does not start the %u ranks of %s %s", pk_run_profile_option(r),
                p->ranks, p->variant, pk_point_text(&p->c.at, NULL, r->arena));
        pk_why(err, "it runs in this process only, and ranks are separate processes");
        return pk_fix(err, "omit it, or use --transport link, whose ranks are virtual");
    }
    return PK_OK;
}

enum pk_code pk_run_profile(struct pk_run *r, struct pk_err *err)
{
    struct pk_device dev;
    if (r->o->peers.n) {
        pk_fail(err, PK_E_USAGE, "--%s does not run the peer '%s'", pk_run_profile_option(r),
                r->o->peers.v[0]);
        pk_why(err, "it runs in this process only, and a peer is a separate program");
        return pk_fix(err, "omit one of them");
    }
    if (pk_run_choose_device(r, err) || pk_run_make_plan(r, err) || refuse_ranks(r, err) ||
        pk_device_open(&dev, r->device, &r->device_options, err))
        return err->code;
    pk_out_again(pk_run_app(r)->out, NULL); /* the same command would run it */
    pk_run_case_table(r, pk_run_profile_option(r), PK_COLUMNS(columns));
    size_t ok = 0, failed = 0, oom = 0;
    for (size_t i = 0; i < r->plan.n && !pk_stop_flag; i++) {
        enum pk_status status = measure(r, &dev, &r->plan.v[i]);
        ok += status == PK_ST_OK;
        failed += status == PK_ST_FAILED;
        oom += status == PK_ST_OOM;
    }
    if (r->o->profile > 1)
        pk_out_note(pk_run_app(r)->out,
                    pk_printf(r->arena, "Medians of %lld iterations.", (long long)r->o->profile));
    pk_device_close(&dev);
    return judge(r, ok, failed, oom, err);
}
