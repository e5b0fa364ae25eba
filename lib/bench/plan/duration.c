/* Duration: stored times or floors, through the stop rule. */
#include "bench/plan/duration.h"

#include "bench/plan/estimate.h"

#include <math.h>
#include <string.h>

/* Measured with attention-scaling on two CPU cores: what kernels reach of the ceilings, what a slice and a process cost beside the
 * iterations, and what the checks of the first process add. */
static const double usual_share_of_floor = 0.4;
static const double slice_ns = 10e6, check_ns = 70e6, process_ns = 150e6;
static const double warm_iterations = 2, check_iterations = 3;
/* A process touches a case's memory for the first time: 0.6 to 1.2 GB/s where the kernel clears pages of 4 KiB in a virtual machine. */
static const double first_touch_bytes_per_s = 1e9;

/* Of the newest hundred runs: a store of years is no reason to wait. */
static const char stored_times[] =
    "WITH newest AS (SELECT run_id FROM v_run WHERE experiment = :experiment AND machine = :machine"
    "                ORDER BY run_id DESC LIMIT 100)"
    " SELECT variant, device, axes, iteration_ns, max(run_id) FROM ("
    "  SELECT s.run_id, s.variant, s.device, s.axes, sum(s.median) AS iteration_ns"
    "  FROM newest r JOIN v_summary s ON s.run_id = r.run_id"
    "  WHERE s.experiment = :experiment AND s.revision = :revision AND s.source = 'region'"
    "  AND s.metric IN (SELECT value FROM json_each(:whole))"
    "  GROUP BY s.case_id) GROUP BY variant, device, axes";

/* The times that make an iteration, as a JSON list: of the regions that are part of no other. */
static const char *whole_metrics(const struct pk_probe *p, struct pk_arena *a)
{
    const char *list = "";
    for (const struct pk_region *r = p->regions; r->name; r++)
        if (!r->inside)
            list = pk_printf(a, "%s%s\"%s_ns\"", list, *list ? "," : "", r->name);
    return pk_printf(a, "[%s]", list);
}

static enum pk_code read_stored(struct pk_store *s, const struct pk_duration_request *r, struct pk_arena *a,
                                struct pk_rows *rows, struct pk_err *err)
{
    const struct pk_probe *p = r->plan->probe;
    const struct pk_param params[] = {
        {":experiment", {.type = PK_CELL_TEXT, .s = p->name}},
        {":revision", {.type = PK_CELL_INT, .i = p->revision}},
        {":machine", {.type = PK_CELL_TEXT, .s = r->machine}},
        {":whole", {.type = PK_CELL_TEXT, .s = whole_metrics(p, a)}},
    };
    return pk_store_query(s, stored_times, params, sizeof params / sizeof *params, a, rows, err);
}

/* NaN when this case was not measured yet. */
static double stored_ns(const struct pk_rows *rows, const struct pk_plan *plan, const struct pk_planned *c,
                        struct pk_arena *a)
{
    const char *axes = pk_point_json(&c->c.at, a);
    for (size_t i = 0; i < rows->n; i++) {
        const struct pk_cell *v = rows->cells + i * rows->n_cols;
        if (strcmp(v[0].s, c->variant) == 0 && strcmp(v[1].s, plan->device) == 0 && strcmp(v[2].s, axes) == 0)
            return v[3].type == PK_CELL_INT ? (double)v[3].i : v[3].f;
    }
    return NAN;
}

static double set_up_ns(const struct pk_plan *plan, const struct pk_planned *c)
{
    const bool touched = plan->kind == PK_DEVICE_CPU && c->predicted_bytes > 0;
    return touched ? (double)c->predicted_bytes / first_touch_bytes_per_s * 1e9 : 0;
}

/* All processes of a case. */
static double case_ns(const struct pk_duration_request *r, const struct pk_planned *c, double iteration)
{
    double least = (double)r->stop->min_samples * iteration;
    double samples = fmax((double)r->stop->max_time_ns + iteration / 2, least);
    double slice = slice_ns + set_up_ns(r->plan, c) + warm_iterations * iteration + samples;
    return (double)r->invocations * slice + (r->check ? check_ns + check_iterations * iteration : 0);
}

/* NaN when nothing is known, and on the null device, whose clock is not ours. */
static double iteration_ns(const struct pk_rows *rows, const struct pk_plan *plan, const struct pk_planned *c,
                           struct pk_arena *a, struct pk_duration *out)
{
    double t = plan->kind == PK_DEVICE_NULL ? NAN : stored_ns(rows, plan, c, a);
    if (!isnan(t)) {
        out->stored++;
        return t;
    }
    bool known = pk_plan_time_known(plan, c);
    ++*(known ? &out->modelled : &out->unknown);
    return known ? c->least_ns / usual_share_of_floor : NAN;
}

enum pk_code pk_plan_duration(struct pk_store *s, const struct pk_duration_request *r, struct pk_arena *a,
                              struct pk_duration *out, struct pk_err *err)
{
    const struct pk_plan *plan = r->plan;
    struct pk_rows rows;
    *out = (struct pk_duration){.case_ns = pk_new_n(a, double, plan->n)};
    if (read_stored(s, r, a, &rows, err))
        return err->code;
    out->ns = (double)r->invocations * process_ns;
    for (size_t i = 0; i < plan->n; i++) {
        const struct pk_planned *c = &plan->v[i];
        if (c->skip || c->too_large)
            continue;
        double iteration = iteration_ns(&rows, plan, c, a, out);
        out->case_ns[i] = isnan(iteration) ? 0 : case_ns(r, c, iteration);
        out->ns += out->case_ns[i];
    }
    if (out->unknown)
        out->ns = NAN;
    else if (r->budget_ns)
        out->ns = fmin(out->ns, (double)r->budget_ns);
    return PK_OK;
}
