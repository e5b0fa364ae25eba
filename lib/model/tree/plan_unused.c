/* Plan, unused: who stands before a rule, which parameters it matches instead, which modules it may have meant. */
#include "model/tree/plan_unused.h"

#include "base/buf.h"
#include "base/plural.h"
#include "base/suggest.h"
#include "model/tree/glob.h"

#include <string.h>

enum { EXAMPLES = 3 };

const char *pk_plan_rule_text(const struct pk_patch_plan *p, uint32_t rule, struct pk_arena *a)
{
    const struct pk_patch_rule *r = &p->rules[rule];
    return r->line ? pk_printf(a, "rule %u (line %d), %s", rule + 1, r->line, r->pattern)
                   : pk_printf(a, "rule %u, %s", rule + 1, r->pattern);
}

/* ---- parameters that match ---------------------------------------------------------------------------- */

struct search {
    const struct pk_globs *globs;
    const struct pk_tree *tree;
    struct pk_arena *a;
    uint32_t step[PK_TREE_DEPTH_MAX];
    uint32_t depth; /* of step; of the leaf when one was found */
};

static bool matches(const struct search *s, const char *path)
{
    size_t bytes = s->globs->words * sizeof *s->globs->start;
    uint64_t *set = memcpy(pk_alloc(s->a, bytes), s->globs->start, bytes);
    for (; *path; path++)
        if (!pk_globs_read(s->globs, set, (unsigned char)*path))
            return false;
    return pk_globs_matched(s->globs, set) != PK_NO_RULE;
}

static bool find_leaf(struct search *s, const struct pk_node *n)
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
    struct search s = {.globs = pk_globs_new(p, a), .tree = t, .a = a};
    return find_leaf(&s, t->root) ? pk_tree_path(t, s.step, s.depth, a) : NULL;
}

/* ---- rules that never fire ---------------------------------------------------------------------------- */

/* The rules that took what one rule matches; both matches are in the order of the tree. */
static bool *takers(const struct pk_patch_plan *p, const struct pk_match *m, const struct pk_match *one,
                    struct pk_arena *a)
{
    bool *took = pk_new_n(a, bool, p->n);
    size_t i = 0;
    for (size_t k = 0; k < one->n; k++, i++) {
        const struct pk_target *t = &one->v[k];
        while (m->v[i].depth != t->depth || memcmp(m->v[i].step, t->step, t->depth * sizeof *t->step))
            i++;
        took[m->v[i].rule] = true;
    }
    return took;
}

/* "rule 2, *.output.dense, stands before it and matches the same modules": no number, so that it is one warning for trees of any size */
static const char *shadowed(const struct pk_patch_plan *p, const bool *took, size_t modules,
                            struct pk_arena *a)
{
    struct pk_buf rules = {.arena = a};
    size_t n = 0;
    for (uint32_t r = 0; r < p->n; r++)
        if (took[r])
            pk_buf_printf(&rules, "%s%s,", n++ ? " and " : "", pk_plan_rule_text(p, r, a));
    return pk_printf(a, "%s %s the same module%s", pk_buf_text(&rules),
                     n == 1 ? "stands before it and matches" : "stand before it and match",
                     modules == 1 ? "" : "s");
}

static const char *why_unused(const struct pk_patch_plan *p, const struct pk_tree *t,
                              const struct pk_match *m, uint32_t rule, struct pk_arena *a)
{
    const struct pk_patch_plan alone = {p->name, 1, &p->rules[rule]};
    struct pk_match one = pk_matched(&alone, t, a);
    if (one.n)
        return shadowed(p, takers(p, m, &one, a), one.n, a);
    const char *leaf = matched_leaf(&alone, t, a);
    return leaf ? pk_printf(a, "it matches no module; %s is a parameter, and patterns name modules", leaf)
                : "it matches no module of the tree";
}

void pk_plan_warn_unused(const struct pk_patch_plan *p, const struct pk_tree *t, const struct pk_match *m,
                         pk_warn_fn *warn, void *user, struct pk_arena *a)
{
    bool *used = pk_new_n(a, bool, p->n);
    for (size_t i = 0; i < m->n; i++)
        used[m->v[i].rule] = true;
    for (uint32_t r = 0; r < p->n; r++)
        if (!used[r])
            warn(user, pk_printf(a, "plan %s: %s, never fires: %s", p->name, pk_plan_rule_text(p, r, a),
                                 why_unused(p, t, m, r, a)));
}

/* ---- plans that match nothing ------------------------------------------------------------------------- */

static const char *last_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

/* The last name of a pattern, without its stars. */
static const char *meant(const char *pattern, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    for (const char *p = last_name(pattern); *p; p++)
        if (*p != '*')
            pk_buf_char(&b, *p);
    return pk_buf_text(&b);
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

/* First modules whose last name is near that of a pattern, then any. */
static struct examples near_modules(const struct pk_patch_plan *p, const char *const *path, size_t n,
                                    struct pk_arena *a)
{
    struct examples e = {0};
    const char **last = pk_new_n(a, const char *, n);
    for (size_t i = 0; i < n; i++)
        last[i] = last_name(path[i]);
    for (size_t r = 0; r < p->n && e.n < EXAMPLES; r++) {
        const char *near = pk_suggest(meant(p->rules[r].pattern, a), last, n);
        for (size_t i = 0; near && i < n; i++)
            if (last[i] == near) /* it is one of them, not a copy */
                add_example(&e, path[i]);
    }
    for (size_t i = 0; i < n && e.n < EXAMPLES; i++)
        add_example(&e, path[i]);
    return e;
}

/* The modules of a tree, root left out. */
static const char **module_paths(const struct pk_tree *t, size_t *n, struct pk_arena *a)
{
    static const struct pk_patch_rule any = {.pattern = "*"};
    struct pk_match all = pk_matched(&(struct pk_patch_plan){"all", 1, &any}, t, a);
    const char **path = pk_new_n(a, const char *, all.n);
    for (size_t i = 0; i < all.n; i++)
        path[i] = pk_tree_path(t, all.v[i].step, all.v[i].depth, a);
    *n = all.n;
    return path;
}

enum pk_code pk_plan_matches_nothing(const struct pk_patch_plan *p, const struct pk_tree *t,
                                     struct pk_arena *a, struct pk_err *err)
{
    size_t n;
    const char **path = module_paths(t, &n, a), *leaf = matched_leaf(p, t, a);
    struct examples e = near_modules(p, path, n, a);
    pk_fail(err, PK_E_USAGE, "plan %s matches no module of the tree", p->name);
    if (leaf)
        pk_why(err, "%s is a parameter; patterns name modules", leaf);
    else
        pk_why(err, "its %s %s no path of %s", pk_plural(p->n, "rule", a), p->n == 1 ? "matches" : "match",
               pk_plural(n, "module", a));
    if (!n)
        return pk_fix(err, "this tree has no modules below its root; name another");
    struct pk_buf some = {.arena = a};
    for (size_t i = 0; i < e.n; i++)
        pk_buf_printf(&some, "%s%s", i ? ", " : "", e.path[i]);
    return pk_fix(err, "there are for example %s", pk_buf_text(&some));
}
