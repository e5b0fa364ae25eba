/* Structure: a tree taken apart: its leaves in order, and what is above them as a post-order program. Inner part of patch and merge.
 *
 * Taking apart and putting together is what one pass of a tree_map is. A predicate may call any node a leaf. */
#pragma once

#include "model/tree/merge.h"

/* One step of building: a leaf is taken from the list, or a node gets the `arity` trees made last. */
struct pk_build {
    const struct pk_node_type *type; /* NULL: a leaf */
    uint32_t arity, value;
};

struct pk_tree_structure {
    const struct pk_node **leaves;
    size_t n_leaves;
    struct pk_build *program;
    size_t n_steps;
    const struct pk_node **stack; /* for putting together */
};

typedef bool pk_is_leaf_fn(const void *user, const struct pk_node *n);

/* Takes apart; the predicate is asked for every node that is visited, as a framework asks its callback. */
void pk_structure_take_apart(struct pk_tree_structure *s, const struct pk_node *root, pk_is_leaf_fn *is_leaf,
                             const void *user);
