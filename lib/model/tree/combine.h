/* Flatten and combine: operations of a framework on a tree at every step, besides patching.
 *
 * flatten    tree -> its leaves in order, and the structure as a post-order list of (type, arity, value)
 * unflatten  structure and leaves -> an equal new tree
 * partition  tree and a predicate over leaves -> two trees of the same structure, each leaf in one of them and a hole in the other
 * combine    two such trees -> one
 *   naive    as equinox.combine: every tree is flattened, the leaf lists merged, the result rebuilt
 *   batched  one walk over both trees at once
 *   cached   structure known: the leaf tables are merged and the nodes rebuilt from a stored program
 * Only the bump is used for memory. */
#pragma once

#include "model/tree/tree.h"

/* One step of building: takes the next leaf from the list, or makes a node from the last `arity` trees. */
struct pk_unflatten_step {
    const struct pk_node_type *type; /* NULL: a leaf */
    uint32_t arity, value;
};

/* A flattened tree: its leaves in order, and the nodes above them as a post-order program. One pass of a tree_map flattens and
 * unflattens. */
struct pk_tree_structure {
    const struct pk_node **leaves; /* writable, so that a caller can exchange some */
    size_t n_leaves;
    struct pk_unflatten_step *program;
    size_t n_steps;
    const struct pk_node **stack; /* for unflattening */
};

/* Memory for the structure and leaves of trees of this size. */
struct pk_tree_structure *pk_structure_new(const struct pk_tree *t, struct pk_arena *a);

typedef bool pk_is_leaf_fn(const void *user, const struct pk_node *n);
/* Flattens. The predicate can make any node a leaf; it is called for every visited node, as a framework calls its callback. */
void pk_structure_flatten(struct pk_tree_structure *s, const struct pk_node *root, pk_is_leaf_fn *is_leaf,
                          const void *user);
/* The same with only the tree's leaves as leaves. */
void pk_tree_flatten(const struct pk_node *root, struct pk_tree_structure *out);
const struct pk_node *pk_tree_unflatten(const struct pk_tree_structure *s, struct pk_bump *b);

/* chosen[i] for leaf i in order. A hole is the node pk_tree_hole. */
extern const struct pk_node pk_tree_hole;
void pk_tree_partition(const struct pk_node *root, const bool *chosen, struct pk_bump *b,
                       const struct pk_node **yes, const struct pk_node **no);

enum pk_combine_way { PK_COMBINE_NAIVE, PK_COMBINE_BATCHED, PK_COMBINE_CACHED };
struct pk_combiner;
struct pk_combiner *pk_combiner_new(const struct pk_tree *t, struct pk_arena *a);
const struct pk_node *pk_tree_combine(struct pk_combiner *c, enum pk_combine_way way, const struct pk_node *a,
                                      const struct pk_node *b, struct pk_bump *out);
