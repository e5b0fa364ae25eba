/* Tree: a model as an immutable tree of named nodes with its parameters at the leaves.
 *
 * Four kinds of node, as in the libraries whose cost is measured:
 *   module     named children ("query", "dense"); may have none (a dropout: its numbers are static, not children)
 *   sequence   children named by their index ("0", "1", ...)
 *   parameter  wraps one leaf; `value` is its sharding. BERT's leaf cls.predictions.bias has no parameter node.
 *   leaf       an array; `value` is its row in the tree's table of shapes
 * A path is the names from the root joined by dots; a parameter and its leaf share one ("...query.weight"). Nodes are not changed after
 * they are made, except by the in-place patch (patch.h). Subtrees may be shared: each occurrence is a separate position. Nodes live in
 * an arena or a bump; a tree frees nothing. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/index.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A bump allocator for the nodes of tree operations: one block, allocated before timing, handed out from front to back. It counts the
 * objects and bytes that were allocated since it was made, over all resets. Running out of memory is a bug (assertion), because its size
 * is computed from the tree (pk_tree_count). */
struct pk_bump {
    unsigned char *base;
    size_t used, cap;
    uint64_t objects, bytes; /* allocated in total */
};

static inline void pk_bump_init(struct pk_bump *b, struct pk_arena *a, size_t cap)
{
    *b = (struct pk_bump){.base = pk_alloc(a, cap), .cap = cap};
}

/* Frees everything; the counts continue. */
static inline void pk_bump_reset(struct pk_bump *b)
{
    b->used = 0;
}

/* 8-byte aligned, not cleared. */
static inline void *pk_bump_take(struct pk_bump *b, size_t bytes)
{
    bytes = (bytes + 7) / 8 * 8;
    pk_assert(bytes <= b->cap - b->used);
    void *p = b->base + b->used;
    b->used += bytes;
    b->objects++;
    b->bytes += bytes;
    return p;
}

/* PATH_MAX: bytes of a path with its NUL. */
enum { PK_TREE_DEPTH_MAX = 32, PK_TREE_PATH_MAX = 4096, PK_TREE_RANK_MAX = 8 };

enum pk_node_kind { PK_NODE_MODULE, PK_NODE_SEQUENCE, PK_NODE_PARAMETER, PK_NODE_LEAF };

/* How one parameter is divided among tp devices. */
enum pk_sharding { PK_WHOLE, PK_SHARD_DIM0, PK_SHARD_DIM1 };

/* Shared by all nodes of one shape; a sequence's fields are the names of its indices. */
struct pk_node_type {
    enum pk_node_kind kind;
    const char *name; /* "Linear" */
    uint32_t n_fields;
    const uint32_t *fields; /* name ids; NULL for parameter and leaf: they add nothing to a path */
};

struct pk_node {
    const struct pk_node_type *type;
    uint32_t arity; /* children; type->n_fields, or 1 for a parameter, 0 for a leaf */
    uint32_t value; /* parameter: enum pk_sharding; leaf: index into pk_tree.shapes; else 0 */
    const struct pk_node *child[];
};

static inline size_t pk_node_bytes(uint32_t arity)
{
    return sizeof(struct pk_node) + arity * sizeof(struct pk_node *);
}

/* Names are interned: equal texts have equal ids, 0 .. n-1. */
struct pk_names {
    size_t n, cap;
    const char **text;
    struct pk_index index;
};
/* An empty table in the arena. */
struct pk_names *pk_names_new(struct pk_arena *a);
uint32_t pk_name(struct pk_names *names, const char *text);

struct pk_shape {
    int rank;
    int64_t dim[PK_TREE_RANK_MAX]; /* outermost first; a linear weight is [out, in] */
};
/* Product of the dimensions; 1 for rank 0. */
int64_t pk_shape_elements(const struct pk_shape *s);

struct pk_tree {
    const struct pk_node *root;
    struct pk_names *names;
    size_t n_leaves;
    const struct pk_shape *shapes; /* [n_leaves], in leaf order */
};

/* Counts over a tree's positions: a shared subtree counts as often as it occurs. */
struct pk_tree_count {
    size_t leaves, modules, sequences, parameters; /* `modules` includes empty ones and the root */
    size_t internal;                               /* all but leaves */
    size_t bytes;                                  /* of every node */
    size_t depth;                                  /* edges of the longest path from the root to a leaf */
    int64_t elements;                              /* over all leaves */
};
void pk_tree_count(const struct pk_tree *t, struct pk_tree_count *out);

/* True when a node with children occurs at several positions. Allocates a table of nodes. */
bool pk_tree_shares(const struct pk_tree *t, struct pk_arena *a);

/* A new node with room for `arity` children that the caller sets. */
static inline struct pk_node *pk_node_new(struct pk_bump *b, const struct pk_node_type *type, uint32_t arity,
                                          uint32_t value)
{
    struct pk_node *n = (struct pk_node *)pk_bump_take(b, pk_node_bytes(arity));
    n->type = type;
    n->arity = arity;
    n->value = value;
    return n;
}

/* A new node with copied children. Most nodes have few children: a call of memcpy would cost more than the loop. */
static inline struct pk_node *pk_node_copy(struct pk_bump *b, const struct pk_node *n)
{
    struct pk_node *made = pk_node_new(b, n->type, n->arity, n->value);
    for (uint32_t i = 0; i < n->arity; i++)
        made->child[i] = n->child[i];
    return made;
}

/* Equal structure: the same types, values and leaf indices at the same positions. On a difference *where is its path, in the arena. */
bool pk_tree_equal(const struct pk_tree *a, const struct pk_tree *b, struct pk_arena *arena,
                   const char **where);

/* The node that the child indices `step` lead to. */
static inline const struct pk_node *pk_tree_at(const struct pk_node *root, const uint32_t *step,
                                               uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++)
        root = root->child[step[i]];
    return root;
}
/* "bert.encoder.layer.0.attention"; "" for the root. In the arena. */
const char *pk_tree_path(const struct pk_tree *t, const uint32_t *step, uint32_t depth, struct pk_arena *a);

/* A tree file is a user's own model, one leaf a line: its dotted path and its shape.
 *
 *   bert.encoder.layer.0.attention.self.query.weight (768, 768)
 *   lm_head.weight torch.Size([32000, 4096])
 *   scale ()
 * as `for n, p in model.named_parameters(): print(n, tuple(p.shape))` prints it. Blank lines and lines that begin with '#' are skipped.
 * Children with the names 0, 1, ... become a sequence; every leaf gets a parameter node. Errors with file, line and fix: an invalid
 * shape, an empty name, a duplicate path, a leaf that is also a module, a missing index ("layer.2: a hole"), mixed names and indices,
 * too many levels, a path that is too long, no leaf. */
enum pk_code pk_tree_read(const char *path, struct pk_arena *a, struct pk_tree *out,
                          struct pk_err *err) PK_MUST_CHECK;
/* The same from text; `name` is for messages. Fuzzed. */
enum pk_code pk_tree_parse(const char *name, const char *text, size_t n, struct pk_arena *a,
                           struct pk_tree *out, struct pk_err *err) PK_MUST_CHECK;
/* Copies every node into `b`: the measured work "create" for a tree from a file. */
const struct pk_node *pk_tree_copy(const struct pk_node *root, struct pk_bump *b);
