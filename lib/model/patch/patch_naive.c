/* Patch one by one: whole passes over the tree for every replacement. */
#include "model/patch/patch_private.h"

#include <string.h>

/* A leaf wrapped into a separate object. */
static const struct pk_node_type wrapper_type = {.kind = PK_NODE_LEAF, .name = "wrapper"};

static const struct pk_node *unwrapped(const struct pk_node *n)
{
    return n->type == &wrapper_type ? n->child[0] : n;
}

static bool is_empty_sequence(const void *user, const struct pk_node *n)
{
    return n->type->kind == PK_NODE_SEQUENCE && !n->arity;
}

static bool is_this(const void *user, const struct pk_node *n)
{
    return n == user;
}

/* Where a pass builds: what was built there is two passes old, and nothing is left of it. */
static struct pk_bump *next_turn(struct pk_patcher *p)
{
    p->turn = (p->turn + 1) % 3;
    pk_bump_reset(&p->bump[p->turn]);
    return &p->bump[p->turn];
}

/* The first and the last pass: nothing changes but empty sequences, which become objects of their own and back. */
static const struct pk_node *distinct(struct pk_patcher *p, const struct pk_node *root)
{
    struct pk_bump *b = next_turn(p);
    pk_structure_flatten(p->pass, root, is_empty_sequence, NULL);
    for (size_t i = 0; i < p->pass->n_leaves; i++)
        if (is_empty_sequence(NULL, p->pass->leaves[i]))
            p->pass->leaves[i] = pk_node_copy(b, p->pass->leaves[i]);
    return pk_tree_unflatten(p->pass, b);
}

static const struct pk_node *wrap_leaves(struct pk_patcher *p, const struct pk_node *root)
{
    struct pk_bump *b = next_turn(p);
    pk_tree_flatten(root, p->pass);
    for (size_t i = 0; i < p->pass->n_leaves; i++) {
        struct pk_node *wrapper = pk_node_new(b, &wrapper_type, 1, 0);
        wrapper->child[0] = p->pass->leaves[i];
        p->pass->leaves[i] = wrapper;
    }
    return pk_tree_unflatten(p->pass, b);
}

/* What was selected must not depend on leaves: the same module, wrapped and not, has the same leaves. */
static void compare_selected(struct pk_patcher *p, const struct pk_node *plain, const struct pk_node *wrapped)
{
    pk_tree_flatten(plain, p->pass);
    const size_t n = p->pass->n_leaves;
    memcpy(p->selected, p->pass->leaves, n * sizeof *p->selected);
    pk_tree_flatten(wrapped, p->pass);
    pk_assert(p->pass->n_leaves == n);
    for (size_t i = 0; i < n; i++)
        pk_assert(p->selected[i] == unwrapped(p->pass->leaves[i]));
}

/* True if the selected node is in the tree, by a pass that changes nothing, as in tree_at; its result is dropped. */
static bool contains_node(struct pk_patcher *p, const struct pk_node *root, const struct pk_node *node)
{
    const unsigned turn = p->turn;
    bool found = false;
    pk_structure_flatten(p->pass, root, is_this, node);
    for (size_t i = 0; i < p->pass->n_leaves; i++)
        found |= p->pass->leaves[i] == node;
    pk_tree_unflatten(p->pass, next_turn(p));
    p->turn = turn;
    return found;
}

static const struct pk_node *exchange(struct pk_patcher *p, const struct pk_node *root,
                                      const struct pk_node *node, const struct pk_node *with)
{
    pk_structure_flatten(p->pass, root, is_this, node);
    for (size_t i = 0; i < p->pass->n_leaves; i++)
        p->pass->leaves[i] = p->pass->leaves[i] == node ? with : unwrapped(p->pass->leaves[i]);
    return pk_tree_unflatten(p->pass, next_turn(p));
}

/* One call of equinox.tree_at, pass by pass (patch.h). */
static const struct pk_node *tree_at(struct pk_patcher *p, const struct pk_node *root,
                                     const struct pk_target *at, const struct pk_node *with)
{
    root = distinct(p, root);
    const struct pk_node *plain = pk_tree_at(root, at->step, at->depth);
    root = wrap_leaves(p, root);
    const struct pk_node *node = pk_tree_at(root, at->step, at->depth);
    compare_selected(p, plain, node);
    pk_assert(contains_node(p, root, node));
    return distinct(p, exchange(p, root, node, with));
}

const struct pk_node *pk_patch_naive(struct pk_patcher *p, const struct pk_tree *t, const struct pk_edits *e)
{
    const struct pk_node *root = t->root;
    for (size_t i = 0; i < e->n; i++)
        root = tree_at(p, root, &e->targets[i], e->with[i]);
    return root;
}

const struct pk_node *pk_patch_naive_1pass(struct pk_patcher *p, const struct pk_tree *t,
                                           const struct pk_edits *e)
{
    /* targets are found by their nodes: each position first gets its own node, as in tree_at's first pass */
    const struct pk_node *root = p->shares && e->n ? distinct(p, t->root) : t->root;
    for (size_t i = 0; i < e->n; i++)
        root = exchange(p, root, pk_tree_at(root, e->targets[i].step, e->targets[i].depth), e->with[i]);
    return root;
}
