/* Cases: those that both sides of an experiment have, each with its partner, and the rows that a gate of them will have. */
#include "judge/gate/gate.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "base/text/words.h"
#include "bench/plan/declared_work.h"
#include "judge/pair/match.h"
#include "json/json.h"

#include <string.h>

typedef const struct pk_gate_plan sides[PK_SIDES];

/* --- what a side sets ------------------------------------------------------------------------------------------------ */

/* Axes of which a side says the value, and whether it says the variant. */
struct set {
    bool axis[PK_AXES_MAX], variant;
};

static const char *name_of(const char *part, struct pk_arena *a)
{
    return pk_strndup(a, part, strcspn(part, "="));
}

static struct set set_by(const struct pk_gate_plan *side, struct pk_arena *a)
{
    struct set s = {.variant = false};
    for (const char *rest = side->settings, *part; (part = pk_next_part(&rest, ' ', a));) {
        const int axis = pk_axis_index(side->plan->probe->axes, name_of(part, a));
        if (axis >= 0)
            s.axis[axis] = true;
        s.variant |= strncmp(part, "variant=", 8) == 0;
    }
    return s;
}

/* Whether cases that have the axis differ in it; those of a negative one in their variant. */
static bool several_values(const struct pk_case_plan *p, int axis)
{
    const struct pk_point *first = NULL;
    for (size_t i = 0; i < p->n; i++) {
        const struct pk_point *at = &p->v[i].c.at;
        if (axis < 0 && strcmp(p->v[0].variant, p->v[i].variant) != 0)
            return true;
        if (axis < 0 || !pk_point_has(at, (size_t)axis))
            continue;
        first = first ? first : at;
        if (!pk_axis_same(&at->axes[axis], first->v[axis], at->v[axis]))
            return true;
    }
    return false;
}

/* What one side says has one value on the other side, too: else it is not known which of them is meant. */
static enum pk_code check_part(const struct pk_gate_plan *side, const struct pk_gate_plan *other,
                               const char *part, struct pk_arena *a, struct pk_err *err)
{
    const char *name = name_of(part, a);
    if (!several_values(other->plan, pk_axis_index(side->plan->probe->axes, name)))
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "--%s sets %s, and --%s has several values of %s", side->option, part,
            other->option, name);
    pk_why(err, "each case must have exactly one partner on the other side");
    return pk_fix(err, "give one value there, too: --%s '%s %s'", other->option, other->settings, part);
}

/* --- partners --------------------------------------------------------------------------------------------------------- */

static bool has_axis(const struct pk_case_plan *p, size_t axis)
{
    for (size_t i = 0; i < p->n; i++)
        if (pk_point_has(&p->v[i].c.at, axis))
            return true;
    return false;
}

static const char *key_of(const struct set *s, const struct pk_planned_case *p, struct pk_arena *a)
{
    return pk_printf(a, "%s\x1f%s", s->variant ? p->variant : "", pk_point_text(&p->c.at, s->axis, a));
}

/* Axes that base does not have are at their born values, which its cases stand for. */
static bool has_born_rest(const struct pk_planned_case *p, size_t n_base, struct pk_arena *a)
{
    struct pk_point rest = p->c.at;
    for (size_t i = 0; i < n_base; i++)
        rest.absent[i] = true;
    return !*pk_point_text(&rest, NULL, a);
}

static const char *variants_of(const struct pk_case_plan *p, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    for (size_t i = 0; i < p->n; i++)
        if (!i || strcmp(p->v[i].variant, p->v[i - 1].variant) != 0)
            if (!strstr(pk_buf_text(&b), p->v[i].variant))
                pk_buf_printf(&b, "%s%s", b.n ? ", " : "", p->v[i].variant);
    return pk_printf(a, "%s of %s", pk_plural(p->n, "case", a), pk_buf_text(&b));
}

/* Leaves the cases that both sides have, in one order. */
static enum pk_code match(sides side, struct pk_arena *a, const char **warning, struct pk_err *err)
{
    struct pk_case_plan *base = side[PK_BASE].plan, *new_ = side[PK_NEW].plan;
    struct pk_planned_case *b = pk_new_n(a, struct pk_planned_case, base->n + 1),
                           *w = pk_new_n(a, struct pk_planned_case, base->n + 1);
    /* The axes that distinguish the cases of a side. An axis that does not apply to a whole side distinguishes nothing. */
    struct set apart = {.variant = !set_by(&side[PK_BASE], a).variant && !set_by(&side[PK_NEW], a).variant};
    const size_t n_axes = pk_axes_count(base->probe->axes);
    for (int i = 0; i < (int)n_axes; i++)
        apart.axis[i] = (several_values(base, i) || several_values(new_, i)) && has_axis(base, (size_t)i) &&
                        has_axis(new_, (size_t)i);
    const char **keys = pk_new_n(a, const char *, new_->n + 1);
    for (size_t i = 0; i < new_->n; i++)
        keys[i] = has_born_rest(&new_->v[i], n_axes, a) ? key_of(&apart, &new_->v[i], a) : "";
    const struct pk_match m = pk_match_make(keys, new_->n, a);
    size_t n = 0;
    for (size_t i = 0; i < base->n; i++) {
        const size_t at = pk_match_find(&m, key_of(&apart, &base->v[i], a), false);
        if (at == SIZE_MAX)
            continue;
        m.taken[at] = true;
        b[n] = base->v[i];
        w[n++] = new_->v[at];
    }
    if (!n) {
        pk_fail(err, PK_E_NOT_COMPARABLE, "the two sides have no case in common");
        pk_why(err, "a has %s; b has %s", variants_of(base, a), variants_of(new_, a));
        return pk_fix(err, "give the variants that both have with --variant");
    }
    *warning = n < base->n || n < new_->n
                   ? pk_printf(a, "of a's %zu and b's %zu cases, %zu are on both sides and are compared",
                               base->n, new_->n, n)
                   : NULL;
    base->v = b;
    new_->v = w;
    base->n = new_->n = n;
    return PK_OK;
}

/* --- the cases -------------------------------------------------------------------------------------------------------- */

/* Both have the axis, and differ in it. One that means nothing to a variant is absent from its cases. Two programs may list the choices of an
 * axis in two orders: texts are compared. */
static bool differ(const struct pk_planned_case *x, const struct pk_planned_case *y, size_t axis,
                   struct pk_arena *a)
{
    const struct pk_point *p = &x->c.at, *q = &y->c.at;
    return pk_point_has(p, axis) && pk_point_has(q, axis) &&
           (p->axes == q->axes ? !pk_axis_same(&p->axes[axis], p->v[axis], q->v[axis])
                               : strcmp(pk_axis_format(&p->axes[axis], p->v[axis], a),
                                        pk_axis_format(&q->axes[axis], q->v[axis], a)) != 0);
}

/* What a case is called on both sides: without what a side says, and what follows from that. */
static struct pk_case_info common_name(sides side, size_t i, struct pk_arena *a)
{
    const struct pk_case_plan *base = side[PK_BASE].plan, *new_ = side[PK_NEW].plan;
    const struct set by_base = set_by(&side[PK_BASE], a), by_new = set_by(&side[PK_NEW], a);
    struct pk_case_info b = pk_planned_case_info(base, i, a), info = pk_planned_case_info(new_, i, a);
    PK_JSON_CLEANUP json_t *axes = json_loads(info.axes, 0, NULL);
    for (size_t k = 0; k < new_->v[i].c.at.n; k++)
        if (by_base.axis[k] || by_new.axis[k] || differ(&base->v[i], &new_->v[i], k, a))
            json_object_del(axes, new_->probe->axes[k].name);
    if (strcmp(b.variant, info.variant) != 0)
        info.variant = pk_printf(a, "%s -> %s", b.variant, info.variant);
    info.axes = pk_json_text(a, axes, PK_JSON_CANON);
    return info;
}

enum pk_code pk_gate_match_cases(sides side, struct pk_gate_samples *l, size_t part, const char **warning,
                                 struct pk_err *err)
{
    struct pk_arena *a = l->arena;
    for (int i = 0; i < PK_SIDES && side[i].settings; i++)
        for (const char *rest = side[i].settings, *setting; (setting = pk_next_part(&rest, ' ', a));)
            if (*setting && check_part(&side[i], &side[PK_SIDES - 1 - i], setting, a, err))
                return err->code;
    if (match(side, a, warning, err))
        return err->code;
    const size_t first = l->n_cases;
    for (size_t i = 0; i < side[PK_BASE].plan->n; i++) {
        const struct pk_case_info info = common_name(side, i, a);
        size_t at = pk_gate_samples_case(l, part, &info);
        pk_assert(at == first + i); /* b's cases differ in what one of its settings says nothing of */
        for (int k = 0; k < PK_SIDES; k++) {
            const struct pk_case_info own = pk_planned_case_info(side[k].plan, i, a);
            l->cases[at].identity[k] = pk_printf(a, "%s %s", own.variant, own.identity);
        }
    }
    return PK_OK;
}

bool pk_gate_same_cases(sides side, struct pk_arena *a)
{
    for (size_t i = 0; i < side[PK_BASE].plan->n; i++) {
        const struct pk_case_info x = pk_planned_case_info(side[PK_BASE].plan, i, a),
                                  y = pk_planned_case_info(side[PK_NEW].plan, i, a);
        if (strcmp(x.variant, y.variant) || strcmp(x.device, y.device) || strcmp(x.axes, y.axes))
            return false;
    }
    return true;
}

/* --- expected rows: figures without numbers, and the criteria that must fit them ------------------------- */

/* The times of a region that does not occur in a case are not reported. A gauge may be: whether it is set shows when it runs. */
static size_t add_case(const struct pk_planned_case *p, const struct pk_case_info *shown, struct pk_arena *a,
                       struct pk_figures *v)
{
    struct pk_metric_decl *m;
    const size_t most = pk_probe_metrics(p->c.probe, a, &m);
    size_t n_regions = 0, n = 0;
    while (p->c.probe->regions[n_regions].name)
        n_regions++;
    for (size_t i = 0; i < most; i++)
        if (i >= 2 * n_regions || pk_region_applies(&p->c, (unsigned)i / 2))
            v[n++] = pk_figures_named(shown, &m[i]);
    return n;
}

void pk_expected_of_plan(const struct pk_case_plan *plan, const struct pk_gate_samples *l, size_t first,
                         const struct pk_compare_options *what, struct pk_arena *a,
                         struct pk_expected_rows *out)
{
    struct pk_metric_decl *ignored;
    struct pk_errs wrong = {.arena = a};
    const size_t most = pk_probe_metrics(plan->probe, a, &ignored) * plan->n;
    struct pk_figures *v = pk_new_n(a, struct pk_figures, most + 1);
    struct pk_compare_side *side = pk_new(a, struct pk_compare_side);
    *side = (struct pk_compare_side){.name = plan->probe->name, .v = v};
    for (size_t i = 0; i < plan->n; i++)
        if (!plan->v[i].skip && !plan->v[i].too_large)
            side->n += add_case(&plan->v[i], &l->cases[first + i].info, a, v + side->n);
    *side = pk_compare_with_tails(side, what, a);
    const struct pk_compare_options judged = pk_compare_metrics_to_judge(side, what, NULL, a, &wrong);
    const struct pk_compare_side chosen = pk_compare_select(side, &judged, a);
    struct pk_compared *rows = pk_new_n(a, struct pk_compared, chosen.n + 1);
    for (size_t i = 0; i < chosen.n; i++)
        rows[i] = (struct pk_compared){.base = &chosen.v[i], .new_ = &chosen.v[i]};
    out->side = side;
    out->what = what;
    out->rows = rows;
    out->n = chosen.n;
}
