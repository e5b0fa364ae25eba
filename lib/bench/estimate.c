/* Estimate: how long planned cases take at the least, and which therefore cannot end in time. */
#include "bench/estimate.h"

#include "base/units.h"

#include <math.h>

static double floor_of(const struct pk_case *c, const struct pk_ceilings *top)
{
    if (!top || !(top->fp32_flops_per_s > 0) || !(top->memory_bytes_per_s > 0))
        return NAN;
    double seconds = 0;
    for (unsigned r = 0; c->probe->regions[r].name; r++) {
        if (c->probe->regions[r].applies && !c->probe->regions[r].applies(c))
            continue;
        struct pk_work w = c->probe->work(c, r);
        seconds += fmax(w.flops / top->fp32_flops_per_s, w.bytes / top->memory_bytes_per_s);
    }
    return seconds * 1e9;
}

void pk_plan_floors(struct pk_plan *plan, const struct pk_ceilings *top)
{
    for (size_t i = 0; i < plan->n; i++)
        plan->v[i].floor_ns = plan->v[i].skip ? NAN : floor_of(&plan->v[i].c, top);
}

bool pk_plan_time_known(const struct pk_plan *plan, const struct pk_planned *p)
{
    return p->provider == 0 && !p->skip && !p->over_limit && plan->kind != PK_DEVICE_NULL &&
           isfinite(p->floor_ns);
}

void pk_plan_leave_out_endless(struct pk_plan *plan, int64_t samples, int64_t timeout_ns, struct pk_arena *a)
{
    for (size_t i = 0; i < plan->n; i++) {
        struct pk_planned *p = &plan->v[i];
        char all[32], each[32], limit[32];
        const double least_ns = p->floor_ns * (double)(samples + 1);
        if (!pk_plan_time_known(plan, p) || least_ns <= (double)timeout_ns)
            continue;
        p->skip = pk_printf(a, "would take at least %s: %lld iterations of %s or more; limit --timeout %s",
                            pk_format_ns(least_ns, all, sizeof all), (long long)samples + 1,
                            pk_format_ns(p->floor_ns, each, sizeof each),
                            pk_format_duration_exact(timeout_ns, limit, sizeof limit));
    }
}
