/* gate, its cases: those that both sides of an experiment have, each with its partner. */
#include "cmd/gate.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/plural.h"
#include "base/split.h"
#include "bench/record/works.h"

#include <string.h>

/* --- what a side sets ------------------------------------------------------------------------------------------------ */

/* Axes of which a side says the value, and whether it says the variant. */
struct set {
    bool axis[PK_AXES_MAX], variant;
};

static const char *name_of(const char *part, struct pk_arena *a)
{
    return pk_strndup(a, part, strcspn(part, "="));
}

static struct set set_by(const struct gate_entry *e, int side)
{
    struct pk_arena *a = e->app->arena;
    struct set s = {.variant = false};
    for (const char *rest = e->side[side].is_settings ? e->side[side].text : NULL, *part;
         (part = pk_next_part(&rest, ' ', a));) {
        const int axis = pk_axis_index(e->probe->axes, name_of(part, a));
        if (axis >= 0)
            s.axis[axis] = true;
        s.variant |= strncmp(part, "variant=", 8) == 0;
    }
    return s;
}

static bool several_variants(const struct pk_plan *p)
{
    for (size_t i = 1; i < p->n; i++)
        if (strcmp(p->v[0].variant, p->v[i].variant) != 0)
            return true;
    return false;
}

/* Whether cases that have the axis differ in it. */
static bool several_values(const struct pk_plan *p, size_t axis)
{
    const struct pk_point *first = NULL;
    for (size_t i = 0; i < p->n; i++) {
        const struct pk_point *at = &p->v[i].c.at;
        if (!pk_point_has(at, axis))
            continue;
        first = first ? first : at;
        if (!pk_axis_same(&at->axes[axis], first->v[axis], at->v[axis]))
            return true;
    }
    return false;
}

/* What one side says has one value on the other side, too: else it is not known which of them is meant. */
static enum pk_code check_part(const struct gate_entry *e, int side, const char *part, struct pk_err *err)
{
    struct pk_arena *a = e->app->arena;
    const char *name = name_of(part, a);
    const struct gate_side *other = &e->side[PK_SIDES - 1 - side];
    const int axis = pk_axis_index(e->probe->axes, name);
    if (axis >= 0 ? !several_values(&other->run.plan, (size_t)axis) : !several_variants(&other->run.plan))
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "--%s says %s, and --%s has several values of %s", e->side[side].option, part,
            other->option, name);
    pk_why(err, "each case has one partner on the other side, and it is not said which of these it is");
    return pk_fix(err, "say one there, too: --%s '%s %s'", other->option, other->text, part);
}

static enum pk_code check_settings(const struct gate_entry *e, struct pk_err *err)
{
    for (int side = 0; side < PK_SIDES && e->side[side].is_settings; side++)
        for (const char *rest = e->side[side].text, *part; (part = pk_next_part(&rest, ' ', e->app->arena));)
            if (*part && check_part(e, side, part, err))
                return err->code;
    return PK_OK;
}

/* --- partners --------------------------------------------------------------------------------------------------------- */

struct matching {
    bool axis[PK_AXES_MAX], variant; /* what tells the cases of a side apart */
    const struct pk_plan *other;
    bool *taken;  /* of the other's */
    size_t first; /* of them that is not */
};

/* Both have the axis, and differ in it. One that means nothing to a variant is absent from its cases. */
static bool differ(const struct pk_planned *x, const struct pk_planned *y, size_t axis)
{
    const struct pk_point *p = &x->c.at, *q = &y->c.at;
    return pk_point_has(p, axis) && pk_point_has(q, axis) &&
           !pk_axis_same(&p->axes[axis], p->v[axis], q->v[axis]);
}

static bool are_partners(const struct matching *m, const struct pk_planned *x, const struct pk_planned *y)
{
    if (m->variant && strcmp(x->variant, y->variant) != 0)
        return false;
    for (size_t i = 0; i < x->c.at.n; i++)
        if (m->axis[i] && differ(x, y, i))
            return false;
    return true;
}

/* NULL = there is none, or they all have one. */
static const struct pk_planned *take_partner(struct matching *m, const struct pk_planned *of)
{
    while (m->first < m->other->n && m->taken[m->first])
        m->first++;
    for (size_t k = m->first; k < m->other->n; k++)
        if (!m->taken[k] && are_partners(m, of, &m->other->v[k])) {
            m->taken[k] = true;
            return &m->other->v[k];
        }
    return NULL;
}

static struct matching matching_of(const struct gate_entry *e)
{
    const struct pk_plan *base = &e->side[PK_BASE].run.plan, *new_ = &e->side[PK_NEW].run.plan;
    struct matching m = {.variant = !set_by(e, PK_BASE).variant && !set_by(e, PK_NEW).variant,
                         .other = new_,
                         .taken = pk_new_n(e->app->arena, bool, new_->n + 1)};
    for (size_t i = 0; i < pk_axes_count(e->probe->axes); i++)
        m.axis[i] = several_values(base, i) || several_values(new_, i);
    return m;
}

static const char *variants_of(const struct pk_plan *p, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    for (size_t i = 0; i < p->n; i++)
        if (!i || strcmp(p->v[i].variant, p->v[i - 1].variant) != 0)
            if (!strstr(pk_buf_text(&b), p->v[i].variant))
                pk_buf_printf(&b, "%s%s", b.n ? ", " : "", p->v[i].variant);
    return pk_printf(a, "%s of %s", pk_plural(p->n, "case", a), pk_buf_text(&b));
}

/* Leaves the cases that both sides have, in one order. */
static enum pk_code match(struct gate_entry *e, struct pk_err *err)
{
    struct pk_arena *a = e->app->arena;
    struct pk_plan *base = &e->side[PK_BASE].run.plan, *new_ = &e->side[PK_NEW].run.plan;
    struct pk_planned *b = pk_new_n(a, struct pk_planned, base->n + 1),
                      *w = pk_new_n(a, struct pk_planned, base->n + 1);
    struct matching m = matching_of(e);
    size_t n = 0;
    for (size_t i = 0; i < base->n; i++) {
        const struct pk_planned *other = take_partner(&m, &base->v[i]);
        if (!other)
            continue;
        b[n] = base->v[i];
        w[n++] = *other;
    }
    if (!n) {
        pk_fail(err, PK_E_NOT_COMPARABLE, "the two sides have no case in common");
        pk_why(err, "a has %s; b has %s", variants_of(base, a), variants_of(new_, a));
        return pk_fix(err, "name the variants that both have with --variant");
    }
    if (n < base->n || n < new_->n)
        pk_warn(e->app, "of a's %zu and b's %zu cases, %zu are on both sides and are compared", base->n,
                new_->n, n);
    base->v = b;
    new_->v = w;
    base->n = new_->n = n;
    return PK_OK;
}

/* --- the plan --------------------------------------------------------------------------------------------------------- */

/* What a case is called on both sides: without what a side says, and what follows from that. */
static struct pk_case_info shown(const struct gate_entry *e, size_t i, struct pk_arena *a)
{
    const struct pk_plan *base = &e->side[PK_BASE].run.plan, *new_ = &e->side[PK_NEW].run.plan;
    const struct set by_base = set_by(e, PK_BASE), by_new = set_by(e, PK_NEW);
    struct pk_case_info b = pk_planned_info(base, i, a), info = pk_planned_info(new_, i, a);
    PK_JSON_CLEANUP json_t *axes = json_loads(info.axes, 0, NULL);
    for (size_t k = 0; k < new_->v[i].c.at.n; k++)
        if (by_base.axis[k] || by_new.axis[k] || differ(&base->v[i], &new_->v[i], k))
            json_object_del(axes, e->probe->axes[k].name);
    if (strcmp(b.variant, info.variant) != 0)
        info.variant = pk_printf(a, "%s -> %s", b.variant, info.variant);
    info.axes = pk_json_text(a, axes, PK_JSON_CANON);
    return info;
}

static enum pk_code plan_side(struct gate_entry *e, struct gate_side *s, struct pk_err *err)
{
    struct run *r = &s->run;
    enum pk_code rc = pk_run_choose_device(r, err);
    if (!rc)
        rc = pk_run_make_plan(r, err);
    if (rc)
        return rc;
    struct pk_texts axes = r->o->axes, variants = r->o->variants;
    *r->o = e->o->run; /* with what the preset says */
    r->o->axes = axes;
    r->o->variants = variants;
    r->ceilings_key = pk_ceilings_key(r->device, &r->device_options, e->app->arena);
    return PK_OK;
}

enum pk_code pk_gate_plan(struct gate *g, size_t part, struct pk_err *err)
{
    struct gate_entry *e = &g->entries[part];
    e->side[PK_NEW].run.said = &e->side[PK_BASE].run.plan;
    for (int i = 0; i < PK_SIDES; i++)
        if (plan_side(e, &e->side[i], err))
            return err->code;
    if (check_settings(e, err) || match(e, err))
        return err->code;
    const size_t first = g->samples.n_cases;
    for (size_t i = 0; i < e->side[PK_BASE].run.plan.n; i++) {
        const struct pk_case_info info = shown(e, i, g->app->arena);
        size_t at = pk_gate_samples_case(&g->samples, part, &info);
        pk_assert(at == first + i); /* b's cases differ in what one of its settings says nothing of */
    }
    for (int i = 0; i < PK_SIDES; i++)
        e->side[i].experiment.first = first;
    return PK_OK;
}
