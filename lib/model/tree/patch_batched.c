/* Patch in one traversal: what a single tree_map for all targets does. */
#include "model/tree/patch_ways.h"

/* Targets come in the order of the walk. They are known by their place, not by their node, which may stand in several. */
struct traversal {
    struct pk_bump *bump;
    const struct pk_target *target, *end; /* the next one */
    const struct pk_node *const *with;
    uint32_t
        shared; /* from the last target until its way is left: steps that the next one's has in common with it */
};

static const struct pk_node *replacement(struct traversal *v)
{
    if (++v->target < v->end)
        v->shared = pk_target_shared(v->target - 1, v->target);
    return *v->with++;
}

/* Is child i of a node at `depth` on the way to the next target, when that node was on the way to this one or the last? */
static bool leads_on(struct traversal *v, bool on_way, uint32_t depth, uint32_t i)
{
    if (!on_way || v->target == v->end || v->shared < depth || v->target->step[depth] != i)
        return false;
    v->shared = PK_TREE_DEPTH_MAX;
    return true;
}

static const struct pk_node *rebuild(struct traversal *v, const struct pk_node *n, uint32_t depth,
                                     bool on_way)
{
    if (on_way && v->target->depth == depth)
        return replacement(v);
    if (n->type->kind == PK_NODE_LEAF)
        return n;
    struct pk_node *made = pk_node_new(v->bump, n->type, n->arity, n->value);
    for (uint32_t i = 0; i < n->arity; i++)
        made->child[i] = rebuild(v, n->child[i], depth + 1, leads_on(v, on_way, depth, i));
    return made;
}

const struct pk_node *pk_patch_batched(struct pk_patcher *p, const struct pk_tree *t,
                                       const struct pk_edits *e)
{
    struct traversal v = {&p->bump[0], e->targets, e->targets + e->n, e->with, PK_TREE_DEPTH_MAX};
    return rebuild(&v, t->root, 0, e->n > 0);
}
