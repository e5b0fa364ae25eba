/* Estimate: how long planned cases take at the least, and which therefore cannot end in time. */
#include "bench/plan/estimate.h"

#include "base/text/units.h"

#include <math.h>

/* What tensor cores compute may overlap the rest; a CPU computes both alike, and has a rate of bf16. Where no rate is known it costs nothing. */
static double own_ns(const struct pk_work *w, const struct pk_ceilings *top)
{
    const double tensor_rate = fmax(top->bf16_flops_per_s, top->tf32_flops_per_s);
    const double others_s = (w->flops - w->tensor_flops) / top->fp32_flops_per_s;
    const double tensor_s = tensor_rate > 0 ? w->tensor_flops / tensor_rate : 0;
    return 1e9 * fmax(fmax(others_s, tensor_s), w->bytes / top->memory_bytes_per_s);
}

/* A region takes its own time or that of its parts, whichever is more; around = -1: the iteration, which has none of its own. */
static double with_parts_ns(const struct pk_case *c, const double *own, int around)
{
    double parts = 0;
    for (unsigned r = 0; c->probe->regions[r].name; r++)
        if (pk_region_applies(c, r) && pk_region_around(c, r) == around)
            parts += with_parts_ns(c, own, (int)r);
    return around < 0 ? parts : fmax(own[around], parts);
}

static void set_times(struct pk_planned *p, const struct pk_ceilings *top)
{
    const struct pk_probe *probe = p->c.probe;
    double floors[PK_REGIONS_MAX], least[PK_REGIONS_MAX];
    bool known = true;
    p->floor_ns = p->least_ns = NAN;
    if (p->skip || !top || !(top->fp32_flops_per_s > 0) || !(top->memory_bytes_per_s > 0))
        return;
    for (unsigned r = 0; probe->regions[r].name; r++) {
        if (!pk_region_applies(&p->c, r))
            continue;
        const struct pk_work w = probe->work(&p->c, r);
        known &= !isnan(w.flops);
        floors[r] = own_ns(&w, top);
        least[r] = probe->effort ? probe->effort(&p->c, r) * floors[r] : floors[r];
    }
    if (!known)
        return;
    p->floor_ns = with_parts_ns(&p->c, floors, -1);
    p->least_ns = with_parts_ns(&p->c, least, -1);
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
