/* Plan, check: targets beside each other, each with a matrix, of dimensions that tp divides. */
#include "model/tree/plan.h"

#include "base/buf.h"
#include "base/plural.h"
#include "model/tree/plan_unused.h"

#include <string.h>

enum { SHOWN = 16 }; /* values of tp in a message */

struct check {
    const struct pk_patch_plan *plan;
    const struct pk_tree *tree;
    struct pk_match match;
    struct pk_arena *a;
    struct pk_err *err;
};

static const char *path_of(const struct check *c, const struct pk_target *t)
{
    return pk_tree_path(c->tree, t->step, t->depth, c->a);
}

static const char *rule_of(const struct check *c, const struct pk_target *t)
{
    return pk_plan_rule_text(c->plan, t->rule, c->a);
}

static const struct pk_shape *shape_of(const struct check *c, const struct pk_node *parameter)
{
    return &c->tree->shapes[parameter->child[0]->value];
}

static const char *name_of(const struct check *c, const struct pk_node *n, uint32_t child)
{
    return c->tree->names->text[n->type->fields[child]];
}

/* "(768, 768)" */
static const char *shape_text(const struct pk_shape *s, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    for (int i = 0; i < s->rank; i++)
        pk_buf_printf(&b, "%s%lld", i ? ", " : "", (long long)s->dim[i]);
    return pk_printf(a, "(%s)", pk_buf_text(&b));
}

/* ---- targets in targets ------------------------------------------------------------------------------- */

static bool inside(const struct pk_target *in, const struct pk_target *t)
{
    return in->depth > t->depth && !memcmp(in->step, t->step, t->depth * sizeof *t->step);
}

/* What is inside a target stands right before it: children come before their parent. */
static enum pk_code check_apart(const struct check *c)
{
    for (size_t i = 1; i < c->match.n; i++) {
        const struct pk_target *in = &c->match.v[i - 1], *t = &c->match.v[i];
        if (!inside(in, t))
            continue;
        pk_fail(c->err, PK_E_USAGE, "plan %s: target %s is inside target %s", c->plan->name, path_of(c, in),
                path_of(c, t));
        if (in->rule == t->rule)
            pk_why(c->err, "%s, matches both; a module is replaced with all that is in it", rule_of(c, t));
        else
            pk_why(c->err,
                   "%s, matches the first and %s, the second; a module is replaced with all that is in it",
                   rule_of(c, in), rule_of(c, t));
        return pk_fix(c->err, "narrow one of the patterns");
    }
    return PK_OK;
}

/* ---- targets without a matrix ------------------------------------------------------------------------- */

static bool has_matrix(const struct check *c, const struct pk_node *module)
{
    for (uint32_t i = 0; i < module->arity; i++)
        if (module->child[i]->type->kind == PK_NODE_PARAMETER && shape_of(c, module->child[i])->rank == 2)
            return true;
    return false;
}

/* "weight (768), bias (768)"; "" without any. */
static const char *parameters_text(const struct check *c, const struct pk_node *module)
{
    struct pk_buf b = {.arena = c->a};
    for (uint32_t i = 0; i < module->arity; i++)
        if (module->child[i]->type->kind == PK_NODE_PARAMETER)
            pk_buf_printf(&b, "%s%s %s", b.n ? ", " : "", name_of(c, module, i),
                          shape_text(shape_of(c, module->child[i]), c->a));
    return pk_buf_text(&b);
}

static enum pk_code check_matrices(const struct check *c)
{
    for (size_t i = 0; i < c->match.n; i++) {
        const struct pk_target *t = &c->match.v[i];
        if (has_matrix(c, t->node))
            continue;
        const char *has = parameters_text(c, t->node);
        pk_fail(c->err, PK_E_USAGE, "plan %s: target %s has no 2-D weight to divide", c->plan->name,
                path_of(c, t));
        pk_why(c->err,
               *has ? "%s, matches it, and its parameters are %s"
                    : "%s, matches it, and it has no parameters of its own%s",
               rule_of(c, t), has);
        return pk_fix(c->err, "narrow the pattern to linear modules");
    }
    return PK_OK;
}

/* ---- dimensions --------------------------------------------------------------------------------------- */

/* The dimension that a rule divides of child `i`; -1 when it divides none. */
static int divided_dimension(const struct check *c, const struct pk_target *t, uint32_t i)
{
    static const int dimension[] = {[PK_WHOLE] = -1, [PK_SHARD_DIM0] = 0, [PK_SHARD_DIM1] = 1};
    const struct pk_node *child = t->node->child[i];
    if (child->type->kind != PK_NODE_PARAMETER)
        return -1;
    return dimension[pk_transform_sharding(c->plan->rules[t->rule].transform, shape_of(c, child))];
}

static int64_t gcd(int64_t a, int64_t b)
{
    return b ? gcd(b, a % b) : a;
}

/* What divides every dimension that the plan divides. */
static int64_t common_divisor(const struct check *c)
{
    int64_t all = 0;
    for (size_t k = 0; k < c->match.n; k++)
        for (uint32_t i = 0; i < c->match.v[k].node->arity; i++) {
            int d = divided_dimension(c, &c->match.v[k], i);
            if (d >= 0)
                all = gcd(shape_of(c, c->match.v[k].node->child[i])->dim[d], all);
        }
    return all;
}

/* "2, 4, 8": the first of them but 1. */
static const char *divisors_text(int64_t n, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    int shown = 0;
    for (int64_t d = 2; d <= n && d <= INT16_MAX && shown <= SHOWN; d++)
        if (n % d == 0 && shown++ < SHOWN)
            pk_buf_printf(&b, "%s%lld", shown > 1 ? ", " : "", (long long)d);
    return pk_printf(a, "%s%s", pk_buf_text(&b), shown > SHOWN ? ", ..." : "");
}

static enum pk_code undivided(const struct check *c, const struct pk_target *t, uint32_t i, int d, int64_t tp)
{
    const struct pk_shape *s = shape_of(c, t->node->child[i]);
    pk_fail(c->err, PK_E_USAGE, "tp %lld does not divide dimension %d of %s.%s, which is %lld", (long long)tp,
            d, path_of(c, t), name_of(c, t->node, i), (long long)s->dim[d]);
    pk_why(c->err, "%s, is %s-parallel and cuts its shape %s into tp equal pieces there", rule_of(c, t),
           pk_transform_names[c->plan->rules[t->rule].transform], shape_text(s, c->a));
    const int64_t all = common_divisor(c);
    if (all == 1)
        return pk_fix(
            c->err,
            "no tp divides every dimension that the plan does: choose other sizes, or narrow the plan");
    return pk_fix(c->err, "tp can be %s: it then divides every dimension that the plan does",
                  divisors_text(all, c->a));
}

static enum pk_code check_dimensions(const struct check *c, int64_t tp)
{
    for (size_t k = 0; k < c->match.n; k++)
        for (uint32_t i = 0; i < c->match.v[k].node->arity; i++) {
            const struct pk_target *t = &c->match.v[k];
            int d = divided_dimension(c, t, i);
            if (d >= 0 && shape_of(c, t->node->child[i])->dim[d] % tp)
                return undivided(c, t, i, d, tp);
        }
    return PK_OK;
}

enum pk_code pk_patch_plan_check(const struct pk_patch_plan *p, const struct pk_tree *t, int64_t tp,
                                 pk_warn_fn *warn, void *user, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct check c = {.plan = p, .tree = t, .a = &a, .err = err};
    c.match = pk_matched(p, t, &a);
    if (!c.match.n)
        return pk_plan_matches_nothing(p, t, &a, err);
    pk_plan_warn_unused(p, t, &c.match, warn, user, &a);
    if (check_apart(&c) || check_matrices(&c))
        return err->code;
    return tp ? check_dimensions(&c, tp) : PK_OK;
}
