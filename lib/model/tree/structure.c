/* Structure: taking trees apart and putting them together. */
#include "model/tree/structure.h"

#include <string.h>

struct pk_tree_structure *pk_structure_new(const struct pk_tree *t, struct pk_arena *a)
{
    struct pk_tree_count k;
    struct pk_tree_structure *s = pk_new(a, struct pk_tree_structure);
    pk_tree_count(t, &k);
    const size_t n = k.internal + k.leaves;
    s->leaves = pk_new_n(a, const struct pk_node *, n);
    s->program = pk_new_n(a, struct pk_build, n);
    s->stack = pk_new_n(a, const struct pk_node *, n);
    return s;
}

static void take(struct pk_tree_structure *s, const struct pk_node *n, pk_is_leaf_fn *is_leaf,
                 const void *user)
{
    if (is_leaf(user, n) || n->type->kind == PK_NODE_LEAF) {
        s->leaves[s->n_leaves++] = n;
        s->program[s->n_steps++] = (struct pk_build){0};
        return;
    }
    for (uint32_t i = 0; i < n->arity; i++)
        take(s, n->child[i], is_leaf, user);
    s->program[s->n_steps++] = (struct pk_build){n->type, n->arity, n->value};
}

void pk_structure_take_apart(struct pk_tree_structure *s, const struct pk_node *root, pk_is_leaf_fn *is_leaf,
                             const void *user)
{
    s->n_leaves = s->n_steps = 0;
    take(s, root, is_leaf, user);
}

static bool never(const void *user, const struct pk_node *n)
{
    return false;
}

void pk_tree_flatten(const struct pk_node *root, struct pk_tree_structure *out)
{
    pk_structure_take_apart(out, root, never, NULL);
}

const struct pk_node **pk_structure_leaves(struct pk_tree_structure *s, size_t *n)
{
    *n = s->n_leaves;
    return s->leaves;
}

const struct pk_node *pk_tree_unflatten(const struct pk_tree_structure *s, struct pk_bump *b)
{
    const struct pk_node **top = s->stack, *const *leaf = s->leaves;
    for (const struct pk_build *step = s->program; step < s->program + s->n_steps; step++) {
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
