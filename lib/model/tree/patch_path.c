/* Patch by paths: only nodes above the targets are touched. */
#include "model/tree/patch_ways.h"

/* The writable copy of child i, put in its place. */
static struct pk_node *copy_child(struct pk_bump *b, struct pk_node *parent, uint32_t i)
{
    struct pk_node *made = pk_node_copy(b, parent->child[i]);
    parent->child[i] = made;
    return made;
}

static const struct pk_node *with_one(struct pk_bump *b, const struct pk_node *root,
                                      const struct pk_target *at, const struct pk_node *with)
{
    struct pk_node *made = pk_node_copy(b, root), *n = made;
    for (uint32_t i = 0; i + 1 < at->depth; i++)
        n = copy_child(b, n, at->step[i]);
    n->child[at->step[at->depth - 1]] = with;
    return made;
}

const struct pk_node *pk_patch_path_copy(struct pk_patcher *p, const struct pk_tree *t,
                                         const struct pk_edits *e)
{
    const struct pk_node *root = t->root;
    for (size_t i = 0; i < e->n; i++)
        root = with_one(&p->bump[0], root, &e->targets[i], e->with[i]);
    return root;
}

/* Targets come in the order of a walk (match.h), so those below one node stand together: the copies on the way to the last target
 * are kept, and the next one begins where it leaves that way. */
const struct pk_node *pk_patch_grouped(struct pk_patcher *p, const struct pk_tree *t,
                                       const struct pk_edits *e)
{
    struct pk_node *spine[PK_TREE_DEPTH_MAX];
    if (!e->n)
        return t->root;
    spine[0] = pk_node_copy(&p->bump[0], t->root);
    for (size_t i = 0; i < e->n; i++) {
        const struct pk_target *at = &e->targets[i];
        for (uint32_t d = i ? pk_target_shared(at - 1, at) : 0; d + 1 < at->depth; d++)
            spine[d + 1] = copy_child(&p->bump[0], spine[d], at->step[d]);
        spine[at->depth - 1]->child[at->step[at->depth - 1]] = e->with[i];
    }
    return spine[0];
}

/* The only place where a node of a tree is written to. */
const struct pk_node *pk_patch_in_place(struct pk_patcher *p, const struct pk_tree *t,
                                        const struct pk_edits *e)
{
    for (size_t i = 0; i < e->n; i++) {
        const struct pk_target *at = &e->targets[i];
        const struct pk_node *parent = pk_tree_at(t->root, at->step, at->depth - 1);
        const struct pk_node **slot =
            (const struct pk_node **)(uintptr_t)&parent->child[at->step[at->depth - 1]];
        *slot = e->with[i];
    }
    return t->root;
}
