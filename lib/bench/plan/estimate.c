/* Estimate: floors of planned cases, and stored times or floors through the stop rule. */
#include "bench/plan/estimate.h"

#include "base/text/units.h"
#include "store/table/table.h"

#include <math.h>
#include <string.h>

/* A region takes its own time or that of its parts, whichever is more; around = -1: the iteration, which has no own time. */
static double with_parts_ns(const struct pk_case *c, const double *own, int around)
{
    double parts = 0;
    for (unsigned r = 0; c->probe->regions[r].name; r++)
        if (pk_region_applies(c, r) && pk_region_around(c, r) == around)
            parts += with_parts_ns(c, own, (int)r);
    return around < 0 ? parts : fmax(own[around], parts);
}

void pk_case_plan_floors(struct pk_case_plan *plan, const struct pk_ceilings *top)
{
    const bool rates = top && top->fp32_flops_per_s > 0 && top->memory_bytes_per_s > 0;
    for (size_t i = 0; i < plan->n; i++) {
        struct pk_planned_case *p = &plan->v[i];
        const struct pk_probe *probe = p->c.probe;
        double floors[PK_REGIONS_MAX], least[PK_REGIONS_MAX];
        bool countable = rates && !p->skip;
        const double bandwidth = rates ? pk_ceilings_bandwidth(top, (double)p->predicted_bytes) : NAN;
        for (unsigned r = 0; countable && probe->regions[r].name; r++) {
            if (!pk_region_applies(&p->c, r))
                continue;
            /* What tensor cores compute may overlap the rest; a CPU computes both alike, and has a rate of bf16. Where no rate is known it costs nothing. */
            const struct pk_work w = probe->work(&p->c, r);
            const double tensor_rate = fmax(top->bf16_flops_per_s, top->tf32_flops_per_s);
            const double others_s = (w.flops - w.tensor_flops) / top->fp32_flops_per_s;
            const double tensor_s = tensor_rate > 0 ? w.tensor_flops / tensor_rate : 0;
            floors[r] = 1e9 * fmax(fmax(others_s, tensor_s), w.bytes / bandwidth);
            least[r] = (w.effort > 0 ? w.effort : 1) * floors[r];
            countable = !isnan(w.flops);
        }
        p->floor_ns = countable ? with_parts_ns(&p->c, floors, -1) : NAN;
        p->least_ns = countable ? with_parts_ns(&p->c, least, -1) : NAN;
    }
}

bool pk_case_plan_time_known(const struct pk_case_plan *plan, const struct pk_planned_case *p)
{
    return p->provider == 0 && !p->skip && !p->too_large && plan->kind != PK_DEVICE_NULL &&
           isfinite(p->least_ns);
}

void pk_case_plan_leave_out_endless(struct pk_case_plan *plan, int64_t samples, int64_t timeout_ns,
                                    struct pk_arena *a)
{
    for (size_t i = 0; i < plan->n; i++) {
        struct pk_planned_case *p = &plan->v[i];
        char all[32], each[32], limit[32];
        const double least_ns = p->least_ns * (double)(samples + 1);
        if (!pk_case_plan_time_known(plan, p) || least_ns <= (double)timeout_ns)
            continue;
        p->skip = pk_printf(a, "would take at least %s: %lld iterations of %s or more; limit --timeout %s",
                            pk_format_ns(least_ns, all, sizeof all), (long long)samples + 1,
                            pk_format_ns(p->least_ns, each, sizeof each),
                            pk_format_duration_exact(timeout_ns, limit, sizeof limit));
    }
}

/* Measured with attention-scaling on two CPU cores: what kernels reach of the ceilings, what a slice and a process cost beside the
 * iterations, and what the checks of the first process add. */
static const double usual_share_of_floor = 0.4;
static const double slice_ns = 10e6, check_ns = 70e6, process_ns = 150e6;
static const double warm_iterations = 2, check_iterations = 3;
/* A process touches a case's memory for the first time: 0.6 to 1.2 GB/s where the kernel clears pages of 4 KiB in a virtual machine. */
static const double first_touch_bytes_per_s = 1e9;

/* NaN when this case was not measured yet. */
static double stored_ns(const struct pk_rows *rows, const struct pk_case_plan *plan,
                        const struct pk_planned_case *c, struct pk_arena *a)
{
    const char *axes = pk_point_json(&c->c.at, a);
    for (size_t i = 0; i < rows->n; i++) {
        const struct pk_cell *v = rows->cells + i * rows->n_cols;
        if (strcmp(v[0].s, c->variant) == 0 && strcmp(v[1].s, plan->device) == 0 && strcmp(v[2].s, axes) == 0)
            return pk_cell_number(&v[3]);
    }
    return NAN;
}

/* All processes of a case. */
static double case_ns(const struct pk_duration_request *r, const struct pk_planned_case *c, double iteration)
{
    double least = (double)r->stop->min_samples * iteration;
    double samples = fmax((double)r->stop->max_time_ns + iteration / 2, least);
    const bool touched = r->plan->kind == PK_DEVICE_CPU && c->predicted_bytes > 0;
    double slice = slice_ns + (touched ? (double)c->predicted_bytes / first_touch_bytes_per_s * 1e9 : 0) +
                   warm_iterations * iteration + samples;
    return (double)r->invocations * slice + (r->check ? check_ns + check_iterations * iteration : 0);
}

/* NaN when unknown, and on the null device, which has a simulated clock. */
static double iteration_ns(const struct pk_rows *rows, const struct pk_case_plan *plan,
                           const struct pk_planned_case *c, struct pk_arena *a, struct pk_duration *out)
{
    double t = plan->kind == PK_DEVICE_NULL ? NAN : stored_ns(rows, plan, c, a);
    if (!isnan(t)) {
        out->stored++;
        return t;
    }
    bool has_floor = pk_case_plan_time_known(plan, c);
    ++*(has_floor ? &out->modelled : &out->unknown);
    return has_floor ? c->least_ns / usual_share_of_floor : NAN;
}

enum pk_code pk_case_plan_duration(struct pk_store *s, const struct pk_duration_request *r,
                                   struct pk_arena *a, struct pk_duration *out, struct pk_err *err)
{
    const struct pk_case_plan *plan = r->plan;
    struct pk_rows rows;
    *out = (struct pk_duration){.case_ns = pk_new_n(a, double, plan->n)};
    const struct pk_probe *p = plan->probe;
    /* The times that make an iteration, as a JSON list: of the regions that are part of no other. */
    const char *list = "";
    for (const struct pk_region *part = p->regions; part->name; part++)
        if (!part->inside)
            list = pk_printf(a, "%s%s\"%s_ns\"", list, *list ? "," : "", part->name);
    const struct pk_param params[] = {
        pk_param_text(":experiment", p->name),
        pk_param_int(":revision", p->revision),
        pk_param_text(":machine", r->machine),
        pk_param_text(":whole", pk_printf(a, "[%s]", list)),
    };
    if (pk_query(s, "stored_times", PK_PARAMS(params), a, &rows, err))
        return err->code;
    out->ns = (double)r->invocations * process_ns;
    for (size_t i = 0; i < plan->n; i++) {
        const struct pk_planned_case *c = &plan->v[i];
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
