/* Combine: taking trees apart and putting them together; a tree divided in two by its leaves, and two such trees made one. */
#include "model/tree/combine.h"

#include <string.h>

struct pk_tree_structure *pk_structure_new(const struct pk_tree *t, struct pk_arena *a)
{
    struct pk_tree_count k;
    struct pk_tree_structure *s = pk_new(a, struct pk_tree_structure);
    pk_tree_count(t, &k);
    const size_t n = k.internal + k.leaves;
    s->leaves = pk_new_n(a, const struct pk_node *, n);
    s->program = pk_new_n(a, struct pk_unflatten_step, n);
    s->stack = pk_new_n(a, const struct pk_node *, n);
    return s;
}

static void flatten_node(struct pk_tree_structure *s, const struct pk_node *n, pk_is_leaf_fn *is_leaf,
                         const void *user)
{
    if (is_leaf(user, n) || n->type->kind == PK_NODE_LEAF) {
        s->leaves[s->n_leaves++] = n;
        s->program[s->n_steps++] = (struct pk_unflatten_step){0};
        return;
    }
    for (uint32_t i = 0; i < n->arity; i++)
        flatten_node(s, n->child[i], is_leaf, user);
    s->program[s->n_steps++] = (struct pk_unflatten_step){n->type, n->arity, n->value};
}

void pk_structure_flatten(struct pk_tree_structure *s, const struct pk_node *root, pk_is_leaf_fn *is_leaf,
                          const void *user)
{
    s->n_leaves = s->n_steps = 0;
    flatten_node(s, root, is_leaf, user);
}

static bool no_node_is_leaf(const void *user, const struct pk_node *n)
{
    return false;
}

void pk_tree_flatten(const struct pk_node *root, struct pk_tree_structure *out)
{
    pk_structure_flatten(out, root, no_node_is_leaf, NULL);
}

const struct pk_node *pk_tree_unflatten(const struct pk_tree_structure *s, struct pk_bump *b)
{
    const struct pk_node **top = s->stack, *const *leaf = s->leaves;
    for (const struct pk_unflatten_step *step = s->program; step < s->program + s->n_steps; step++) {
        if (!step->type) {
            *top++ = *leaf++;
            continue;
        }
        struct pk_node *made = pk_node_new(b, step->type, step->arity, step->value);
        top -= step->arity;
        memcpy(made->child, top, step->arity * sizeof *top);
        *top++ = made;
    }
    return *s->stack;
}

static const struct pk_node_type hole_type = {.kind = PK_NODE_LEAF, .name = "hole"};
const struct pk_node pk_tree_hole = {.type = &hole_type};

struct division {
    const bool *chosen; /* of the next leaf */
    struct pk_bump *bump;
};

static void divide(struct division *d, const struct pk_node *n, const struct pk_node **yes,
                   const struct pk_node **no)
{
    if (n->type->kind == PK_NODE_LEAF) {
        const bool mine = *d->chosen++;
        *yes = mine ? n : &pk_tree_hole;
        *no = mine ? &pk_tree_hole : n;
        return;
    }
    struct pk_node *a = pk_node_new(d->bump, n->type, n->arity, n->value);
    struct pk_node *b = pk_node_new(d->bump, n->type, n->arity, n->value);
    for (uint32_t i = 0; i < n->arity; i++)
        divide(d, n->child[i], &a->child[i], &b->child[i]);
    *yes = a;
    *no = b;
}

void pk_tree_partition(const struct pk_node *root, const bool *chosen, struct pk_bump *b,
                       const struct pk_node **yes, const struct pk_node **no)
{
    struct division d = {chosen, b};
    divide(&d, root, yes, no);
}

struct pk_combiner {
    struct pk_tree_structure *first, *second; /* first: also the stored program of the cached way */
};

struct pk_combiner *pk_combiner_new(const struct pk_tree *t, struct pk_arena *a)
{
    struct pk_combiner *c = pk_new(a, struct pk_combiner);
    c->first = pk_structure_new(t, a);
    c->second = pk_structure_new(t, a);
    pk_tree_flatten(t->root, c->first);
    return c;
}

static const struct pk_node *filled(const struct pk_node *a, const struct pk_node *b)
{
    return a == &pk_tree_hole ? b : a;
}

static const struct pk_node *merge_leaves(struct pk_combiner *c, struct pk_bump *out)
{
    for (size_t i = 0; i < c->first->n_leaves; i++)
        c->first->leaves[i] = filled(c->first->leaves[i], c->second->leaves[i]);
    return pk_tree_unflatten(c->first, out);
}

static const struct pk_node *walk_both(const struct pk_node *a, const struct pk_node *b, struct pk_bump *out)
{
    if (a->type->kind == PK_NODE_LEAF)
        return filled(a, b);
    struct pk_node *made = pk_node_new(out, a->type, a->arity, a->value);
    for (uint32_t i = 0; i < a->arity; i++)
        made->child[i] = walk_both(a->child[i], b->child[i], out);
    return made;
}

static void collect(struct pk_tree_structure *s, const struct pk_node *n)
{
    if (n->type->kind == PK_NODE_LEAF)
        s->leaves[s->n_leaves++] = n;
    for (uint32_t i = 0; i < n->arity; i++)
        collect(s, n->child[i]);
}

const struct pk_node *pk_tree_combine(struct pk_combiner *c, enum pk_combine_way way, const struct pk_node *a,
                                      const struct pk_node *b, struct pk_bump *out)
{
    switch (way) {
    case PK_COMBINE_NAIVE:
        pk_tree_flatten(a, c->first);
        pk_tree_flatten(b, c->second);
        return merge_leaves(c, out);
    case PK_COMBINE_BATCHED:
        return walk_both(a, b, out);
    default:
        /* The program is known: only leaves are looked for. */
        c->first->n_leaves = c->second->n_leaves = 0;
        collect(c->first, a);
        collect(c->second, b);
        return merge_leaves(c, out);
    }
}
