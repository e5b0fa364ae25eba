/* Expected cases: compares a request with the plan of a rank that was started with the whole command line. */
#include "bench/plan/plan.h"

#include "json/json.h"

#include <string.h>

static bool has_value(const struct pk_case_plan *p, const struct pk_case *c, size_t axis, struct pk_arena *a)
{
    const char *wanted = pk_axis_format(&c->probe->axes[axis], c->at.v[axis], a);
    for (size_t i = 0; i < p->n; i++)
        if (pk_point_has(&p->v[i].c.at, axis) &&
            !strcmp(wanted, pk_axis_format(&c->probe->axes[axis], p->v[i].c.at.v[axis], a)))
            return true;
    return false;
}

/* Of a case that the plan lacks, what no case of it has: "variant=bucket compute_ms=1"; all of it where each part is in some case. */
static const char *strange_part(const struct pk_case_plan *p, const struct pk_request *r,
                                const struct pk_case *c, struct pk_arena *a)
{
    const char *variant = c->probe->variants[c->variant].name;
    bool strange[PK_AXES_MAX] = {0};
    if (p->probe != c->probe)
        return c->probe->name;
    for (size_t k = 0; c->probe->axes[k].name; k++)
        strange[k] = json_object_get(r->axes, c->probe->axes[k].name) && !has_value(p, c, k, a);
    bool in_plan = false;
    for (size_t i = 0; i < p->n; i++)
        in_plan |= !strcmp(p->v[i].variant, variant);
    const char *axes = pk_point_text(&c->at, strange, a);
    if (in_plan && *axes)
        return axes;
    if (in_plan)
        axes = pk_point_text(&c->at, NULL, a);
    return pk_printf(a, "variant=%s%s%s", variant, *axes ? " " : "", axes);
}

enum pk_code pk_case_plan_expects(const void *plan, const struct pk_request *r, const struct pk_case *c,
                                  struct pk_arena *a, struct pk_err *err)
{
    const struct pk_case_plan *p = plan;
    for (size_t i = 0; i < p->n; i++) {
        PK_JSON_CLEANUP json_t *axes = json_loads(pk_point_json(&p->v[i].c.at, a), 0, NULL);
        if (!strcmp(p->probe->name, r->experiment) && !strcmp(p->v[i].variant, r->variant) &&
            json_equal(axes, r->axes))
            return PK_OK;
    }
    pk_fail(err, PK_E_USAGE, "its command line does not have this case of rank 0");
    return pk_why(err, "%s; start every rank with the same command line", strange_part(p, r, c, a));
}
