/* Patch: the table of ways, what they need, and what a transform makes of a module. */
#include "model/tree/patch.h"

#include "model/tree/patch_ways.h"

#include <string.h>

static const struct pk_node *nothing(struct pk_patcher *p, const struct pk_tree *t, const struct pk_edits *e)
{
    return t->root;
}

static pk_patch_way_fn *const ways[] = {
    [PK_PATCH_NAIVE] = pk_patch_naive,       [PK_PATCH_NAIVE_1PASS] = pk_patch_naive_1pass,
    [PK_PATCH_BATCHED] = pk_patch_batched,   [PK_PATCH_PATH_COPY] = pk_patch_path_copy,
    [PK_PATCH_GROUPED] = pk_patch_grouped,   [PK_PATCH_CACHED] = pk_patch_cached,
    [PK_PATCH_IN_PLACE] = pk_patch_in_place, [PK_PATCH_BUILT_IN] = nothing,
};

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

/* Bytes of the nodes above a target, its own left out. */
static size_t path_bytes(const struct pk_tree *t, const struct pk_target *target)
{
    size_t bytes = 0;
    const struct pk_node *n = t->root;
    for (uint32_t i = 0; i < target->depth; i++) {
        bytes += pk_node_bytes(n->arity);
        n = n->child[target->step[i]];
    }
    return bytes;
}

/* What each of the bumps holds at most. Replacements are as large as what they replace. */
static void bump_bytes(enum pk_patch_way way, const struct pk_tree *t, const struct pk_match *targets,
                       size_t bytes[3])
{
    struct pk_tree_count k;
    size_t paths = 0;
    pk_tree_count(t, &k);
    for (size_t i = 0; i < targets->n; i++)
        paths += path_bytes(t, &targets->v[i]);
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

size_t pk_patch_bytes(enum pk_patch_way way, const struct pk_tree *t, const struct pk_match *targets)
{
    size_t bytes[3];
    bump_bytes(way, t, targets, bytes);
    return bytes[0] + bytes[1] + bytes[2];
}

struct pk_patcher *pk_patcher_new(enum pk_patch_way way, const struct pk_tree *t,
                                  const struct pk_match *targets, struct pk_arena *a)
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
    p->copies = pk_new_n(a, struct pk_replay_copy, steps + 1);
    p->slots = pk_new_n(a, struct pk_replay_slot, steps + 1);
    return p;
}

const struct pk_node *pk_patch(struct pk_patcher *p, enum pk_patch_way way, struct pk_tree *t,
                               const struct pk_edits *e)
{
    p->turn = 0;
    for (size_t i = 0; i < 3; i++)
        pk_bump_reset(&p->bump[i]);
    return ways[way](p, t, e);
}

struct pk_allocated pk_patcher_allocated(const struct pk_patcher *p)
{
    struct pk_allocated all = {0};
    for (size_t i = 0; i < 3; i++) {
        all.objects += p->bump[i].objects;
        all.bytes += p->bump[i].bytes;
    }
    return all;
}
