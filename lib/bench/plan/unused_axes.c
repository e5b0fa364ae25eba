/* Unused axes: requested axes that no case of the plan has. */
#include "bench/plan/plan.h"

#include "base/err.h"

#include <string.h>

/* Values of axis `x` worth a try: every word; of numbers the least, the usual and the most. Returns how many; v holds 64. */
static size_t candidates(const struct pk_axis *x, struct pk_arena *a, union pk_value *v)
{
    struct pk_sweep usual;
    struct pk_err err;
    size_t n = 0;
    if (x->type == PK_AXIS_BOOL || x->type == PK_AXIS_ENUM) {
        for (; n < 64 && (x->type == PK_AXIS_BOOL ? n < 2 : x->choices[n] != NULL); n++)
            v[n].i = (int64_t)n;
        return n;
    }
    pk_assert(!pk_sweep_parse(x, x->def, a, &usual, &err));
    if (!pk_axis_ordered(x)) {
        v[0] = usual.v[0];
        return 1;
    }
    v[0] = x->type == PK_AXIS_FLOAT ? (union pk_value){.f = x->min} : (union pk_value){.i = (int64_t)x->min};
    v[1] = usual.v[0];
    v[2] = x->type == PK_AXIS_FLOAT ? (union pk_value){.f = x->max} : (union pk_value){.i = (int64_t)x->max};
    return 3;
}

/* "op=patch": another value of one axis above that would bring `axis` in; NULL when one change is not enough, or the variant is why. */
static const char *what_brings(const struct pk_point *at, size_t axis, struct pk_arena *a)
{
    for (size_t k = 0; k < axis; k++) {
        union pk_value v[64];
        size_t n = at->absent[k] ? 0 : candidates(&at->axes[k], a, v);
        for (size_t i = 0; i < n; i++) {
            struct pk_point changed = *at;
            changed.v[k] = v[i];
            if (!pk_axis_applies(at, axis) && pk_axis_applies(&changed, axis))
                return pk_printf(a, "%s=%s", at->axes[k].name, pk_axis_format(&at->axes[k], v[i], a));
        }
    }
    return NULL;
}

const char *pk_case_plan_unused_axis(const struct pk_case_plan *plan, const struct pk_axis_sweep *s,
                                     struct pk_arena *a)
{
    const char *name = plan->probe->axes[s->axis].name;
    for (size_t i = 0; i < plan->n; i++)
        if (!plan->v[i].c.at.absent[s->axis])
            return NULL;
    if (!plan->n)
        return NULL;
    const char *needs = what_brings(&plan->v[0].c.at, s->axis, a);
    return pk_printf(a, "-a %s changes nothing: %s applies to none of these cases%s%s", s->text, name,
                     needs ? ", but would with " : "", needs ? needs : "");
}
