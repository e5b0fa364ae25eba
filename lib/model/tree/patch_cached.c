/* Patch from a program made beforehand: copy these nodes one after the other, then set these slots. */
#include "base/assert.h"
#include "model/tree/patch_ways.h"

#include <stddef.h>
#include <string.h>

/* The place of child i in a copy that begins at `copy`. */
static uint32_t slot_of(uint32_t copy, uint32_t i)
{
    return copy + (uint32_t)(offsetof(struct pk_node, child) + i * sizeof(struct pk_node *));
}

/* Plans the copy of a node; returns where it will be. */
static uint32_t plan_copy(struct pk_patcher *p, const struct pk_node *n)
{
    const uint32_t at = (uint32_t)p->replay_bytes, bytes = (uint32_t)pk_node_bytes(n->arity);
    p->copies[p->n_copies++] = (struct pk_replay_copy){n, bytes};
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
        for (uint32_t d = i ? pk_target_shared(at - 1, at) : 0; d + 1 < at->depth; d++) {
            nodes[d + 1] = nodes[d]->child[at->step[d]];
            spine[d + 1] = plan_copy(p, nodes[d + 1]);
            p->slots[p->n_slots++] =
                (struct pk_replay_slot){slot_of(spine[d], at->step[d]), spine[d + 1], PK_NO_EDIT};
        }
        p->slots[p->n_slots++] =
            (struct pk_replay_slot){slot_of(spine[at->depth - 1], at->step[at->depth - 1]), 0, (uint32_t)i};
    }
}

const struct pk_node *pk_patch_cached(struct pk_patcher *p, const struct pk_tree *t, const struct pk_edits *e)
{
    unsigned char *base = p->bump[0].base;
    if (!e->n)
        return t->root;
    for (size_t i = 0; i < p->n_copies; i++)
        memcpy(pk_bump_take(&p->bump[0], p->copies[i].bytes), p->copies[i].from, p->copies[i].bytes);
    for (const struct pk_replay_slot *s = p->slots; s < p->slots + p->n_slots; s++) {
        const void *to = s->edit == PK_NO_EDIT ? (const void *)(base + s->copy) : e->with[s->edit];
        memcpy(base + s->at, &to, sizeof to);
    }
    return (const struct pk_node *)base;
}
