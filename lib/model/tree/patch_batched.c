/* Patch in one traversal: what a single tree_map for all targets does. */
#include "model/tree/patch_ways.h"

struct traversal {
    struct pk_bump *bump;
    const struct pk_target *target, *end; /* the next one; targets come in the order of the walk */
    const struct pk_node *const *with;
};

static const struct pk_node *rebuild(struct traversal *v, const struct pk_node *n)
{
    if (v->target < v->end && v->target->node == n) {
        v->target++;
        return *v->with++;
    }
    if (n->type->kind == PK_NODE_LEAF)
        return n;
    struct pk_node *made = pk_node_new(v->bump, n->type, n->arity, n->value);
    for (uint32_t i = 0; i < n->arity; i++)
        made->child[i] = rebuild(v, n->child[i]);
    return made;
}

const struct pk_node *pk_patch_batched(struct pk_patcher *p, const struct pk_tree *t,
                                       const struct pk_edits *e)
{
    struct traversal v = {&p->bump[0], e->targets, e->targets + e->n, e->with};
    return rebuild(&v, t->root);
}
