/* Plan, check: rules that never match first, with the reason; nested targets; targets without a matrix; dimensions that are not
 * multiples of tp. */
#include "model/patch/plan.h"

#include "base/text/buf.h"
#include "base/text/words.h"
#include "model/patch/match.h"

#include <string.h>

enum { EXAMPLES = 3 };

/* "rule 6, *.attention.output.dense", with its line when it comes from a file. In the arena. */
static const char *rule_text(const struct pk_patch_plan *p, uint32_t rule, struct pk_arena *a)
{
    const struct pk_patch_rule *r = &p->rules[rule];
    return r->line ? pk_printf(a, "rule %u (line %d), %s", rule + 1, r->line, r->pattern)
                   : pk_printf(a, "rule %u, %s", rule + 1, r->pattern);
}

/* ---- parameters that match ---------------------------------------------------------------------------- */

struct example_search {
    const struct pk_globs *globs;
    const struct pk_tree *tree;
    struct pk_arena *a;
    uint32_t step[PK_TREE_DEPTH_MAX];
    uint32_t depth; /* of step; of the leaf when one was found */
};

static bool matches(const struct example_search *s, const char *path)
{
    size_t bytes = s->globs->words * sizeof *s->globs->start;
    uint64_t *set = memcpy(pk_alloc(s->a, bytes), s->globs->start, bytes);
    for (; *path; path++)
        if (!pk_globs_read(s->globs, set, (unsigned char)*path))
            return false;
    return pk_globs_matched(s->globs, set) != PK_NO_RULE;
}

static bool find_leaf(struct example_search *s, const struct pk_node *n)
{
    if (n->type->kind == PK_NODE_LEAF)
        return matches(s, pk_tree_path(s->tree, s->step, s->depth, s->a));
    for (uint32_t i = 0; i < n->arity; i++) {
        pk_assert(s->depth < PK_TREE_DEPTH_MAX);
        s->step[s->depth++] = i;
        if (find_leaf(s, n->child[i]))
            return true;
        s->depth--;
    }
    return false;
}

/* The path of a parameter that the plan matches, or NULL. */
static const char *matched_leaf(const struct pk_patch_plan *p, const struct pk_tree *t, struct pk_arena *a)
{
    struct example_search s = {.globs = pk_patch_plan_globs(p, a), .tree = t, .a = a};
    return find_leaf(&s, t->root) ? pk_tree_path(t, s.step, s.depth, a) : NULL;
}

/* ---- rules that never fire ---------------------------------------------------------------------------- */

/* "rule 2, *.output.dense, comes before it and matches the same modules": the rules that match first where this one matches. Both
 * matches are in the order of the tree. Without the number of modules, so that the warning is the same for trees of any size. */
static const char *shadowed(const struct pk_patch_plan *p, const struct pk_targets *m,
                            const struct pk_targets *one, struct pk_arena *a)
{
    bool *took = pk_new_n(a, bool, p->n);
    struct pk_buf rules = {.arena = a};
    size_t n = 0, i = 0;
    for (size_t k = 0; k < one->n; k++, i++) {
        const struct pk_target *t = &one->v[k];
        while (m->v[i].depth != t->depth || memcmp(m->v[i].step, t->step, t->depth * sizeof *t->step))
            i++;
        took[m->v[i].rule] = true;
    }
    for (uint32_t r = 0; r < p->n; r++)
        if (took[r])
            pk_buf_printf(&rules, "%s%s,", n++ ? " and " : "", rule_text(p, r, a));
    return pk_printf(a, "%s %s before it and %s the same %s", pk_buf_text(&rules), pk_predicate(n, "come", a),
                     pk_predicate(n, "match", a), pk_plural_noun(one->n, "module", a));
}

static const char *why_unused(const struct pk_patch_plan *p, const struct pk_tree *t,
                              const struct pk_targets *m, uint32_t rule, struct pk_arena *a)
{
    const struct pk_patch_plan alone = {p->name, 1, &p->rules[rule]};
    struct pk_targets one = pk_matched(&alone, t, a);
    if (one.n)
        return shadowed(p, m, &one, a);
    const char *leaf = matched_leaf(&alone, t, a);
    return leaf ? pk_printf(a, "it matches no module; %s is a parameter, and patterns name modules", leaf)
                : "it matches no module of the tree";
}

/* ---- plans that match nothing ------------------------------------------------------------------------- */

static const char *last_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

struct examples {
    size_t n;
    const char *path[EXAMPLES];
};

static void add_example(struct examples *e, const char *path)
{
    for (size_t i = 0; i < e->n; i++)
        if (!strcmp(e->path[i], path))
            return;
    if (e->n < EXAMPLES)
        e->path[e->n++] = path;
}

/* First modules whose last name is similar to that of a pattern, then any. */
static struct examples near_modules(const struct pk_patch_plan *p, const char *const *path, size_t n,
                                    struct pk_arena *a)
{
    struct examples e = {0};
    const char **last = pk_new_n(a, const char *, n);
    for (size_t i = 0; i < n; i++)
        last[i] = last_name(path[i]);
    for (size_t r = 0; r < p->n && e.n < EXAMPLES; r++) {
        struct pk_buf name = {.arena = a}; /* the last one of the pattern, without its stars */
        for (const char *at = last_name(p->rules[r].pattern); *at; at++)
            if (*at != '*')
                pk_buf_char(&name, *at);
        const char *near = pk_suggest(pk_buf_text(&name), last, n);
        for (size_t i = 0; near && i < n; i++)
            if (last[i] == near) /* it is one of them, not a copy */
                add_example(&e, path[i]);
    }
    for (size_t i = 0; i < n && e.n < EXAMPLES; i++)
        add_example(&e, path[i]);
    return e;
}

/* The error of a plan without targets. */
static enum pk_code matches_nothing(const struct pk_patch_plan *p, const struct pk_tree *t,
                                    struct pk_arena *a, struct pk_err *err)
{
    static const struct pk_patch_rule any = {.pattern = "*"};
    const struct pk_targets all = pk_matched(&(struct pk_patch_plan){"all", 1, &any}, t, a);
    const size_t n = all.n;
    const char **path = pk_new_n(a, const char *, n), *leaf = matched_leaf(p, t, a);
    for (size_t i = 0; i < n; i++)
        path[i] = pk_tree_path(t, all.v[i].step, all.v[i].depth, a);
    struct examples e = near_modules(p, path, n, a);
    pk_fail(err, PK_E_USAGE, "plan %s matches no module of the tree", p->name);
    if (leaf)
        pk_why(err, "%s is a parameter; patterns name modules", leaf);
    else
        pk_why(err, "its %s %s of %s", pk_plural(p->n, "rule", a), pk_predicate(p->n, "match no path", a),
               pk_plural(n, "module", a));
    if (!n)
        return pk_fix(err, "this tree has no modules below its root; use another tree");
    return pk_fix(err, "the tree has for example %s", pk_list(e.path, e.n, ", ", a));
}

enum { SHOWN = 16 }; /* values of tp in a message */

struct plan_check {
    const struct pk_patch_plan *plan;
    const struct pk_tree *tree;
    struct pk_targets match;
    struct pk_arena *a;
    struct pk_err *err;
};

static const char *path_of(const struct plan_check *c, const struct pk_target *t)
{
    return pk_tree_path(c->tree, t->step, t->depth, c->a);
}

static const char *rule_of(const struct plan_check *c, const struct pk_target *t)
{
    return rule_text(c->plan, t->rule, c->a);
}

static const struct pk_shape *shape_of(const struct plan_check *c, const struct pk_node *parameter)
{
    return &c->tree->shapes[parameter->child[0]->value];
}

static const char *name_of(const struct plan_check *c, const struct pk_node *n, uint32_t child)
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

/* Targets inside a target are right before it, because children come before their parent. */
static enum pk_code check_apart(const struct plan_check *c)
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

/* "weight (768), bias (768)"; "" without any. */
static const char *parameters_text(const struct plan_check *c, const struct pk_node *module)
{
    struct pk_buf b = {.arena = c->a};
    for (uint32_t i = 0; i < module->arity; i++)
        if (module->child[i]->type->kind == PK_NODE_PARAMETER)
            pk_buf_printf(&b, "%s%s %s", b.n ? ", " : "", name_of(c, module, i),
                          shape_text(shape_of(c, module->child[i]), c->a));
    return pk_buf_text(&b);
}

static enum pk_code check_matrices(const struct plan_check *c)
{
    for (size_t i = 0; i < c->match.n; i++) {
        const struct pk_target *t = &c->match.v[i];
        bool matrix = false;
        for (uint32_t k = 0; k < t->node->arity; k++)
            matrix |= t->node->child[k]->type->kind == PK_NODE_PARAMETER &&
                      shape_of(c, t->node->child[k])->rank == 2;
        if (matrix)
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
static int divided_dimension(const struct plan_check *c, const struct pk_target *t, uint32_t i)
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
static int64_t common_divisor(const struct plan_check *c)
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

static enum pk_code check_dimensions(const struct plan_check *c, int64_t tp)
{
    for (size_t k = 0; k < c->match.n; k++)
        for (uint32_t i = 0; i < c->match.v[k].node->arity; i++) {
            const struct pk_target *t = &c->match.v[k];
            const int d = divided_dimension(c, t, i);
            const struct pk_shape *s = d < 0 ? NULL : shape_of(c, t->node->child[i]);
            if (!s || s->dim[d] % tp == 0)
                continue;
            pk_fail(c->err, PK_E_USAGE, "tp %lld does not divide dimension %d of %s.%s, which is %lld",
                    (long long)tp, d, path_of(c, t), name_of(c, t->node, i), (long long)s->dim[d]);
            pk_why(c->err, "%s, is %s-parallel and cuts its shape %s into tp equal pieces there",
                   rule_of(c, t), pk_transform_names[c->plan->rules[t->rule].transform], shape_text(s, c->a));
            const int64_t all = common_divisor(c);
            return all == 1 ? pk_fix(c->err, "no tp divides every dimension of the plan: choose other sizes, "
                                             "or narrow the plan")
                            : pk_fix(c->err, "tp can be %s: it then divides every dimension of the plan",
                                     divisors_text(all, c->a));
        }
    return PK_OK;
}

enum pk_code pk_patch_plan_check(const struct pk_patch_plan *p, const struct pk_tree *t, int64_t tp,
                                 pk_warn_fn *warn, void *user, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct plan_check c = {.plan = p, .tree = t, .a = &a, .err = err};
    c.match = pk_matched(p, t, &a);
    if (!c.match.n)
        return matches_nothing(p, t, &a, err);
    bool *used = pk_new_n(&a, bool, p->n);
    for (size_t i = 0; i < c.match.n; i++)
        used[c.match.v[i].rule] = true;
    for (uint32_t r = 0; r < p->n; r++)
        if (!used[r])
            warn(user, pk_printf(&a, "plan %s: %s, is never used: %s", p->name, rule_text(p, r, &a),
                                 why_unused(p, t, &c.match, r, &a)));
    if (check_apart(&c) || check_matrices(&c))
        return err->code;
    return tp ? check_dimensions(&c, tp) : PK_OK;
}
