/* Estimate: how long planned cases take at the least, and which therefore cannot end in time. */
#include "bench/estimate.h"

#include "base/units.h"

#include <math.h>

static void set_times(struct pk_planned *p, const struct pk_ceilings *top)
{
    const struct pk_probe *probe = p->c.probe;
    p->floor_ns = p->least_ns = NAN;
    if (p->skip || !top || !(top->fp32_flops_per_s > 0) || !(top->memory_bytes_per_s > 0))
        return;
    p->floor_ns = p->least_ns = 0;
    for (unsigned r = 0; probe->regions[r].name; r++) {
        if (probe->regions[r].applies && !probe->regions[r].applies(&p->c))
            continue;
        const struct pk_work w = probe->work(&p->c, r);
        const double ns =
            1e9 * fmax((w.flops - w.tensor_flops) / top->fp32_flops_per_s, w.bytes / top->memory_bytes_per_s);
        p->floor_ns += ns;
        p->least_ns += probe->effort ? probe->effort(&p->c, r) * ns : ns;
    }
}

void pk_plan_floors(struct pk_plan *plan, const struct pk_ceilings *top)
{
    for (size_t i = 0; i < plan->n; i++)
        set_times(&plan->v[i], top);
}

bool pk_plan_time_known(const struct pk_plan *plan, const struct pk_planned *p)
{
    return p->provider == 0 && !p->skip && !p->too_large && plan->kind != PK_DEVICE_NULL &&
           isfinite(p->least_ns);
}

void pk_plan_leave_out_endless(struct pk_plan *plan, int64_t samples, int64_t timeout_ns, struct pk_arena *a)
{
    for (size_t i = 0; i < plan->n; i++) {
        struct pk_planned *p = &plan->v[i];
        char all[32], each[32], limit[32];
        const double least_ns = p->least_ns * (double)(samples + 1);
        if (!pk_plan_time_known(plan, p) || least_ns <= (double)timeout_ns)
            continue;
        p->skip = pk_printf(a, "would take at least %s: %lld iterations of %s or more; limit --timeout %s",
                            pk_format_ns(least_ns, all, sizeof all), (long long)samples + 1,
                            pk_format_ns(p->least_ns, each, sizeof each),
                            pk_format_duration_exact(timeout_ns, limit, sizeof limit));
    }
}
