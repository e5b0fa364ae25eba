/* Patch: what a transform makes of a module, what the ways need, and all of them but the naive ones. */
#include "model/patch/patch.h"

#include "model/patch/patch_private.h"

#include <stddef.h>
#include <string.h>

/* One node that the cached way copies, and one slot that it then sets. */
struct replay_copy {
    const struct pk_node *from;
    uint32_t bytes;
};
struct replay_slot {
    uint32_t at;   /* byte offset of the slot */
    uint32_t copy; /* byte offset of the copy it points to, when edit is NO_EDIT */
    uint32_t edit;
};
enum { NO_EDIT = UINT32_MAX };

const struct pk_node *pk_transform_module(struct pk_bump *b, const struct pk_tree *t,
                                          const struct pk_node *module, enum pk_transform how)
{
    struct pk_node *made = pk_node_copy(b, module);
    for (uint32_t i = 0; i < made->arity; i++) {
        const struct pk_node *parameter = made->child[i];
        if (parameter->type->kind != PK_NODE_PARAMETER)
            continue;
        const enum pk_sharding divided = pk_transform_sharding(how, &t->shapes[parameter->child[0]->value]);
        if (divided == PK_WHOLE)
            continue;
        struct pk_node *other = pk_node_copy(b, parameter);
        other->value = divided;
        made->child[i] = other;
    }
    return made;
}

/* What each of the bumps holds at most. Replacements are as large as what they replace. */
static void bump_bytes(enum pk_patch_way way, const struct pk_tree *t, const struct pk_targets *targets,
                       size_t bytes[3])
{
    struct pk_tree_count k;
    size_t paths = 0; /* of the nodes above every target, its own left out */
    pk_tree_count(t, &k);
    for (size_t i = 0; i < targets->n; i++) {
        const struct pk_node *n = t->root;
        for (uint32_t d = 0; d < targets->v[i].depth; d++) {
            paths += pk_node_bytes(n->arity);
            n = n->child[targets->v[i].step[d]];
        }
    }
    const size_t rebuilt = 2 * k.bytes + k.leaves * pk_node_bytes(1),
                 spines = paths < k.bytes ? paths : k.bytes;
    const size_t all = paths > rebuilt ? paths : rebuilt;
    const size_t by_way[PK_PATCH_WAYS + 1][3] = {
        [PK_PATCH_NAIVE] = {rebuilt, rebuilt, rebuilt},
        [PK_PATCH_NAIVE_1PASS] = {rebuilt, rebuilt, rebuilt},
        [PK_PATCH_BATCHED] = {rebuilt},
        [PK_PATCH_PATH_COPY] = {paths},
        [PK_PATCH_GROUPED] = {spines},
        [PK_PATCH_CACHED] = {spines},
        [PK_PATCH_WAYS] = {all, rebuilt, rebuilt},
    };
    memcpy(bytes, by_way[way], sizeof by_way[way]);
}

size_t pk_patch_bytes(enum pk_patch_way way, const struct pk_tree *t, const struct pk_targets *targets)
{
    size_t bytes[3];
    bump_bytes(way, t, targets, bytes);
    return bytes[0] + bytes[1] + bytes[2];
}

struct pk_patcher *pk_patcher_new(enum pk_patch_way way, const struct pk_tree *t,
                                  const struct pk_targets *targets, struct pk_arena *a)
{
    struct pk_patcher *p = pk_new(a, struct pk_patcher);
    size_t bytes[3], steps = 0;
    bump_bytes(way, t, targets, bytes);
    for (size_t i = 0; i < 3; i++)
        pk_bump_init(&p->bump[i], a, bytes[i]);
    for (size_t i = 0; i < targets->n; i++)
        steps += targets->v[i].depth;
    p->shares = pk_tree_shares(t, a);
    p->pass = pk_structure_new(t, a);
    p->selected = pk_new_n(a, const struct pk_node *, 2 * t->n_leaves);
    p->copies = pk_new_n(a, struct replay_copy, steps + 1);
    p->slots = pk_new_n(a, struct replay_slot, steps + 1);
    return p;
}

/* ---- by paths: only nodes above the targets are touched --------------------------------------------- */

/* How many steps from the root two targets share, their last ones left out. */
static uint32_t shared_steps(const struct pk_target *a, const struct pk_target *b)
{
    uint32_t n = 0;
    while (n + 1 < a->depth && n + 1 < b->depth && a->step[n] == b->step[n])
        n++;
    return n;
}

/* The writable copy of child i, put in its place. */
static struct pk_node *copy_child(struct pk_bump *b, struct pk_node *parent, uint32_t i)
{
    struct pk_node *made = pk_node_copy(b, parent->child[i]);
    parent->child[i] = made;
    return made;
}

static const struct pk_node *patch_path_copy(struct pk_patcher *p, const struct pk_tree *t,
                                             const struct pk_edits *e)
{
    const struct pk_node *root = t->root;
    for (size_t i = 0; i < e->n; i++) {
        const struct pk_target *at = &e->targets[i];
        struct pk_node *n = pk_node_copy(&p->bump[0], root);
        root = n;
        for (uint32_t d = 0; d + 1 < at->depth; d++)
            n = copy_child(&p->bump[0], n, at->step[d]);
        n->child[at->step[at->depth - 1]] = e->with[i];
    }
    return root;
}

/* Targets are in the order of a walk (match.h), so those below one node are adjacent: the copies on the path to the last target are
 * kept, and the next target starts where its path differs. */
static const struct pk_node *patch_grouped(struct pk_patcher *p, const struct pk_tree *t,
                                           const struct pk_edits *e)
{
    struct pk_node *spine[PK_TREE_DEPTH_MAX];
    if (!e->n)
        return t->root;
    spine[0] = pk_node_copy(&p->bump[0], t->root);
    for (size_t i = 0; i < e->n; i++) {
        const struct pk_target *at = &e->targets[i];
        for (uint32_t d = i ? shared_steps(at - 1, at) : 0; d + 1 < at->depth; d++)
            spine[d + 1] = copy_child(&p->bump[0], spine[d], at->step[d]);
        spine[at->depth - 1]->child[at->step[at->depth - 1]] = e->with[i];
    }
    return spine[0];
}

/* The only place where a node of a tree is written to. */
static const struct pk_node *patch_in_place(struct pk_patcher *p, const struct pk_tree *t,
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

/* ---- in one traversal, as a single tree_map for all targets ------------------------------------------- */

/* Targets are in the order of the walk. They are identified by position, not by node, because a node may occur at several positions. */
struct traversal {
    struct pk_bump *bump;
    const struct pk_target *target, *end; /* the next one */
    const struct pk_node *const *with;
    uint32_t shared; /* steps that the next target has in common with the last one, until its way is left */
};

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
    if (on_way && v->target->depth == depth) {
        if (++v->target < v->end)
            v->shared = shared_steps(v->target - 1, v->target);
        return *v->with++;
    }
    if (n->type->kind == PK_NODE_LEAF)
        return n;
    struct pk_node *made = pk_node_new(v->bump, n->type, n->arity, n->value);
    for (uint32_t i = 0; i < n->arity; i++)
        made->child[i] = rebuild(v, n->child[i], depth + 1, leads_on(v, on_way, depth, i));
    return made;
}

static const struct pk_node *patch_batched(struct pk_patcher *p, const struct pk_tree *t,
                                           const struct pk_edits *e)
{
    struct traversal v = {&p->bump[0], e->targets, e->targets + e->n, e->with, PK_TREE_DEPTH_MAX};
    return rebuild(&v, t->root, 0, e->n > 0);
}

/* ---- from a program made beforehand: these nodes are copied, then these slots are set ------------------- */

/* The place of child i in a copy that begins at `copy`. */
static uint32_t slot_of(uint32_t copy, uint32_t i)
{
    return copy + (uint32_t)(offsetof(struct pk_node, child) + i * sizeof(struct pk_node *));
}

/* Plans the copy of a node; returns where it will be. */
static uint32_t plan_copy(struct pk_patcher *p, const struct pk_node *n)
{
    const uint32_t at = (uint32_t)p->replay_bytes, bytes = (uint32_t)pk_node_bytes(n->arity);
    p->copies[p->n_copies++] = (struct replay_copy){n, bytes};
    p->replay_bytes += bytes;
    return at;
}

void pk_patch_prepare(struct pk_patcher *p, const struct pk_tree *t, const struct pk_edits *e)
{
    uint32_t spine[PK_TREE_DEPTH_MAX];
    const struct pk_node *nodes[PK_TREE_DEPTH_MAX];
    p->n_copies = p->n_slots = p->replay_bytes = 0;
    if (!e->n)
        return;
    nodes[0] = t->root;
    spine[0] = plan_copy(p, t->root);
    for (size_t i = 0; i < e->n; i++) {
        const struct pk_target *at = &e->targets[i];
        for (uint32_t d = i ? shared_steps(at - 1, at) : 0; d + 1 < at->depth; d++) {
            nodes[d + 1] = nodes[d]->child[at->step[d]];
            spine[d + 1] = plan_copy(p, nodes[d + 1]);
            p->slots[p->n_slots++] =
                (struct replay_slot){slot_of(spine[d], at->step[d]), spine[d + 1], NO_EDIT};
        }
        p->slots[p->n_slots++] =
            (struct replay_slot){slot_of(spine[at->depth - 1], at->step[at->depth - 1]), 0, (uint32_t)i};
    }
}

static const struct pk_node *patch_cached(struct pk_patcher *p, const struct pk_tree *t,
                                          const struct pk_edits *e)
{
    unsigned char *base = p->bump[0].base;
    if (!e->n)
        return t->root;
    for (size_t i = 0; i < p->n_copies; i++)
        memcpy(pk_bump_take(&p->bump[0], p->copies[i].bytes), p->copies[i].from, p->copies[i].bytes);
    for (const struct replay_slot *s = p->slots; s < p->slots + p->n_slots; s++) {
        const void *to = s->edit == NO_EDIT ? (const void *)(base + s->copy) : e->with[s->edit];
        memcpy(base + s->at, &to, sizeof to);
    }
    return (const struct pk_node *)base;
}

/* ---- every way ---------------------------------------------------------------------------------------- */

static const struct pk_node *unpatched_root(struct pk_patcher *p, const struct pk_tree *t,
                                            const struct pk_edits *e)
{
    return t->root;
}

static pk_patch_way_fn *const ways[] = {
    [PK_PATCH_NAIVE] = pk_patch_naive,    [PK_PATCH_NAIVE_1PASS] = pk_patch_naive_1pass,
    [PK_PATCH_BATCHED] = patch_batched,   [PK_PATCH_PATH_COPY] = patch_path_copy,
    [PK_PATCH_GROUPED] = patch_grouped,   [PK_PATCH_CACHED] = patch_cached,
    [PK_PATCH_IN_PLACE] = patch_in_place, [PK_PATCH_BUILT_IN] = unpatched_root,
};

const struct pk_node *pk_patch(struct pk_patcher *p, enum pk_patch_way way, struct pk_tree *t,
                               const struct pk_edits *e)
{
    p->turn = 0;
    for (size_t i = 0; i < 3; i++)
        pk_bump_reset(&p->bump[i]);
    return ways[way](p, t, e);
}

struct pk_allocation_counts pk_patcher_allocated(const struct pk_patcher *p)
{
    struct pk_allocation_counts all = {0};
    for (size_t i = 0; i < 3; i++) {
        all.objects += p->bump[i].objects;
        all.bytes += p->bump[i].bytes;
    }
    return all;
}
