/* Patch, private: what patch.c and patch_naive.c share. */
#pragma once

#include "model/patch/patch.h"
#include "model/tree/combine.h"

struct pk_patcher {
    /* The naive ways use them in turn, because a pass's input can be dropped when its output is complete; the other ways use the first. */
    struct pk_bump bump[3];
    unsigned turn;
    bool shares; /* some module occurs at several positions */
    struct pk_tree_structure *pass;
    const struct pk_node **selected; /* by tree_at's check of what was selected */
    struct replay_copy *copies;      /* of the cached way */
    struct replay_slot *slots;
    size_t n_copies, n_slots, replay_bytes;
};

typedef const struct pk_node *pk_patch_way_fn(struct pk_patcher *p, const struct pk_tree *t,
                                              const struct pk_edits *e);

pk_patch_way_fn pk_patch_naive, pk_patch_naive_1pass; /* patch_naive.c */
