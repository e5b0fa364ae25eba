/* Declared work: rows of declared work and predicted values. */
#include "bench/plan/declared_work.h"

#include "base/text/units.h"

#include <math.h>

struct pk_case pk_planned_case_of(const struct pk_planned_case *p)
{
    struct pk_case c = p->c;
    c.variant = p->provider ? 0 : c.variant;
    return c;
}

double pk_planned_case_value(const struct pk_planned_case *p, const struct pk_metric *m)
{
    const struct pk_case c = pk_planned_case_of(p);
    if (p->provider && m->class != PK_CLASS_EXACT)
        return NAN;
    const int64_t v = m == &pk_peak_metric ? p->predicted_bytes
                      : c.probe->predict   ? c.probe->predict(&c, PK_DEVICE_CPU, m->gauge)
                                           : -1;
    return v < 0 || v == PK_BYTES_BEYOND ? NAN : (double)v;
}

static size_t add_predicted(const struct pk_planned_case *p, const struct pk_metric *m, int64_t case_id,
                            struct pk_case_work *row)
{
    const double v = pk_planned_case_value(p, m);
    *row = (struct pk_case_work){case_id, m->name, NAN, NAN, NAN, NAN, v};
    return !isnan(v);
}

size_t pk_case_declared_work(const struct pk_planned_case *p, int64_t case_id, struct pk_arena *a,
                             struct pk_case_work **out)
{
    const struct pk_case c = pk_planned_case_of(p);
    size_t n = 0, n_metrics = 0;
    while (c.probe->metrics && c.probe->metrics[n_metrics].name)
        n_metrics++;
    struct pk_case_work *v = *out = pk_new_n(a, struct pk_case_work, PK_REGIONS_MAX + n_metrics + 1);
    for (unsigned r = 0; c.probe->regions[r].name; r++) {
        if (!pk_region_applies(&c, r))
            continue;
        const struct pk_work w = c.probe->work(&c, r);
        const char *metric = pk_printf(a, "%s_ns", c.probe->regions[r].name);
        v[n++] = (struct pk_case_work){case_id, metric, w.flops, w.bytes, w.exps, w.messages, NAN};
    }
    for (const struct pk_metric *m = c.probe->metrics; m && m->name; m++)
        n += add_predicted(p, m, case_id, &v[n]);
    return n + add_predicted(p, &pk_peak_metric, case_id, &v[n]);
}

struct pk_case_info pk_planned_case_info(const struct pk_case_plan *plan, size_t i, struct pk_arena *a)
{
    const struct pk_planned_case *p = &plan->v[i];
    return (struct pk_case_info){
        .experiment = plan->probe->name,
        .revision = (int)plan->probe->revision,
        .variant = p->variant,
        .device = plan->device,
        .axes = pk_point_json(&p->c.at, a),
        .identity = pk_point_identity(&p->c.at, a),
        .predicted_bytes = p->predicted_bytes == PK_BYTES_BEYOND ? -1 : p->predicted_bytes,
    };
}
