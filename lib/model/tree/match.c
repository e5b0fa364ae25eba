/* Match: room for what is found. */
#include "model/tree/match.h"

/* To every module below a node that is `depth` steps from the root. */
static size_t steps_below(const struct pk_node *n, uint32_t depth)
{
    size_t steps = 0;
    for (uint32_t i = 0; i < n->arity; i++) {
        const struct pk_node *child = n->child[i];
        steps += child->type->kind == PK_NODE_MODULE ? depth + 1 : 0;
        steps += steps_below(child, depth + 1);
    }
    return steps;
}

void pk_match_init(struct pk_match *m, const struct pk_tree *t, struct pk_arena *a)
{
    struct pk_tree_count count;
    pk_tree_count(t, &count);
    *m = (struct pk_match){.cap = count.modules,
                           .v = pk_new_n(a, struct pk_target, count.modules),
                           .steps = pk_new_n(a, uint32_t, steps_below(t->root, 0))};
}
