/* Patch ways: what the files of the eight ways share. Private to lib/model/tree. */
#pragma once

#include "model/tree/patch.h"
#include "model/tree/structure.h"

/* One node that the cached way copies, and one slot that it then sets. */
struct pk_replay_copy {
    const struct pk_node *from;
    uint32_t bytes;
};
struct pk_replay_slot {
    uint32_t at;   /* byte offset of the slot */
    uint32_t copy; /* byte offset of the copy it points to, when edit is PK_NO_EDIT */
    uint32_t edit;
};
enum { PK_NO_EDIT = UINT32_MAX };

struct pk_patcher {
    struct pk_bump bump
        [3]; /* the naive ways take turns, as a pass's input may go when its output is there; the others use the first */
    unsigned turn;
    bool shares; /* some module stands in several places */
    struct pk_tree_structure *pass;
    const struct pk_node **selected; /* by tree_at's check of what was selected */
    struct pk_replay_copy *copies;
    struct pk_replay_slot *slots;
    size_t n_copies, n_slots, replay_bytes;
};

/* How many steps from the root two targets share, their last ones left out. */
static inline uint32_t pk_target_shared(const struct pk_target *a, const struct pk_target *b)
{
    uint32_t n = 0;
    while (n + 1 < a->depth && n + 1 < b->depth && a->step[n] == b->step[n])
        n++;
    return n;
}

typedef const struct pk_node *pk_patch_way_fn(struct pk_patcher *p, const struct pk_tree *t,
                                              const struct pk_edits *e);

pk_patch_way_fn pk_patch_naive, pk_patch_naive_1pass;                    /* patch_naive.c */
pk_patch_way_fn pk_patch_batched;                                        /* patch_batched.c */
pk_patch_way_fn pk_patch_path_copy, pk_patch_grouped, pk_patch_in_place; /* patch_path.c */
pk_patch_way_fn pk_patch_cached;                                         /* patch_cached.c */
