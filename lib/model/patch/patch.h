/* Patch: a tree with some modules replaced, made in eight ways whose results are equal.
 *
 *   naive one call per replacement, like equinox.tree_at: it rebuilds the whole tree PK_TREE_AT_PASSES times, one of them
 *                wrapping every leaf, independent of the target's depth
 *   naive-1pass  one call and one rebuild per replacement
 *   batched      one call for all replacements: one traversal, not below the targets, which rebuilds every node it visits
 *   path-copy    per replacement, the nodes from the root to its parent are copied (persistent vectors do this)
 *   grouped      replacements in order of their paths; each node above a target is copied once
 *   cached       grouped with everything decided beforehand (pk_patch_prepare): which nodes to copy and which slots to set
 *   in-place     the parent's slot is overwritten: the old tree is gone. The lower bound.
 *   built-in     nothing to do: the tree was born sharded
 * All but in-place leave the old tree unchanged and share with it the nodes that they do not copy. Allocated objects and bytes are
 * counted by the bumps. Intermediate trees of the naive ways are dropped after each pass, as if an allocator reused them; the cost of an
 * allocator is not included. */
#pragma once

#include "model/patch/match.h"

/* Rebuilds of the whole tree in one call of equinox.tree_at, version 0.13.8:
 *   1  empty tuples become objects of their own        2  leaves are wrapped, so that each is one
 *      (what `where` selects is taken from both results, flattened, and compared)
 *   3  is what was selected one node of the tree, or a list of nodes?    4  the replacement; leaves are unwrapped
 *   5  empty tuples again
 * Each pass flattens the tree, calls a predicate for every node, and builds the tree again. The peer equinox-tree-at counts the passes
 * in the installed source. */
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

/* The replacement of a target: the module and the parameters that the transform divides are new nodes, the rest is shared. */
const struct pk_node *pk_transform_module(struct pk_bump *b, const struct pk_tree *t,
                                          const struct pk_node *module, enum pk_transform how);

/* Replacements: targets[i] becomes with[i]. The first `n` targets of a match, in its order, on which batched, grouped and cached rely. A
 * target is a position: if a module occurs at several positions, the others stay unchanged (except in-place, which writes to their
 * common parent). */
struct pk_edits {
    size_t n;
    const struct pk_target *targets;
    const struct pk_node *const *with;
};

/* Memory and tables for patching in one way, sized for a tree and its targets; nothing else is allocated. PK_PATCH_WAYS: for all ways. */
struct pk_patcher;
struct pk_patcher *pk_patcher_new(enum pk_patch_way way, const struct pk_tree *t,
                                  const struct pk_targets *targets, struct pk_arena *a);

/* The largest number of bytes of nodes that one patch allocates: by path-copy, each target's whole path. */
size_t pk_patch_bytes(enum pk_patch_way way, const struct pk_tree *t, const struct pk_targets *targets);

/* For cached: decides which nodes to copy for these targets of this tree. Allocates nothing. */
void pk_patch_prepare(struct pk_patcher *p, const struct pk_tree *t, const struct pk_edits *e);

/* Patches and returns the new tree's root, valid until the next call with the same patcher. Only in-place writes to the tree. */
const struct pk_node *pk_patch(struct pk_patcher *p, enum pk_patch_way way, struct pk_tree *t,
                               const struct pk_edits *e);

/* Allocated by all calls of pk_patch so far. */
struct pk_allocation_counts {
    uint64_t objects, bytes;
};
struct pk_allocation_counts pk_patcher_allocated(const struct pk_patcher *p);
