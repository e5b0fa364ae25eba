/* Patch: a tree with some modules replaced, made in eight ways whose results are equal.
 *
 *   naive        one call per replacement, as equinox.tree_at: it rebuilds the whole tree PK_TREE_AT_PASSES times, one of them
 *                wrapping every leaf, whatever the target's depth
 *   naive-1pass  one call and one rebuild per replacement
 *   batched      one call for all replacements: one traversal, not below the targets, which rebuilds every node it visits
 *   path-copy    per replacement, the nodes from the root to its parent are copied (persistent vectors do this)
 *   grouped      replacements in order of their paths; each node above a target is copied once
 *   cached       grouped with everything decided beforehand (pk_patch_prepare): which nodes to copy and which slots to set
 *   in-place     the parent's slot is overwritten: the old tree is gone. The lower bound.
 *   built-in     nothing to do: the tree was born sharded
 * All but in-place leave the old tree as it was and share with it what they do not copy. What is allocated is counted by the bumps.
 * Intermediate trees of the naive ways are dropped pass by pass, as an allocator would reuse them: none of its cost is in them. */
#pragma once

#include "model/patch/match.h"

/* Rebuilds of the whole tree in one call of equinox.tree_at, version 0.13.8:
 *   1  empty tuples become objects of their own        2  leaves are wrapped, so that each is one
 *      (what `where` selects is taken from both results, flattened, and compared)
 *   3  is what was selected one node of the tree, or a list of nodes?    4  the replacement; leaves are unwrapped
 *   5  empty tuples again
 * Each flattens the tree, asks a predicate for every node, and builds it anew. The peer equinox-tree-at counts them in the installed source. */
enum { PK_TREE_AT_PASSES = 5 };

enum pk_patch_way {
    PK_PATCH_NAIVE,
    PK_PATCH_NAIVE_1PASS,
    PK_PATCH_BATCHED,
    PK_PATCH_PATH_COPY,
    PK_PATCH_GROUPED,
    PK_PATCH_CACHED,
    PK_PATCH_IN_PLACE,
    PK_PATCH_BUILT_IN,
    PK_PATCH_WAYS
};

/* The new module of a target: itself and the parameters that the transform divides are new nodes, the rest is shared. */
const struct pk_node *pk_transform_module(struct pk_bump *b, const struct pk_tree *t,
                                          const struct pk_node *module, enum pk_transform how);

/* Replacements: targets[i] becomes with[i]. The first `n` of a match, in its order, which batched, grouped and cached rely on. A target is
 * a place: where a module stands in several, the others stay as they are (but in-place, which writes to the one parent they share). */
struct pk_edits {
    size_t n;
    const struct pk_target *targets;
    const struct pk_node *const *with;
};

/* Memory and tables that patching one way needs, sized for a tree and its targets; nothing else is allocated. PK_PATCH_WAYS: for
 * every way. */
struct pk_patcher;
struct pk_patcher *pk_patcher_new(enum pk_patch_way way, const struct pk_tree *t,
                                  const struct pk_targets *targets, struct pk_arena *a);

/* Bytes of nodes that one patching holds at most: by path-copy, each target's whole path. */
size_t pk_patch_bytes(enum pk_patch_way way, const struct pk_tree *t, const struct pk_targets *targets);

/* cached: decides what to copy for these targets of this tree. Allocates nothing. */
void pk_patch_prepare(struct pk_patcher *p, const struct pk_tree *t, const struct pk_edits *e);

/* The new tree's root. Valid until the next call with the same patcher. The tree is written to by in-place only. */
const struct pk_node *pk_patch(struct pk_patcher *p, enum pk_patch_way way, struct pk_tree *t,
                               const struct pk_edits *e);

/* Handed out by pk_patch in all calls so far. */
struct pk_allocated {
    uint64_t objects, bytes;
};
struct pk_allocated pk_patcher_allocated(const struct pk_patcher *p);
