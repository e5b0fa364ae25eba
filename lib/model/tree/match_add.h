/* Match, add: what both matchers do with a module that matched. */
#pragma once

#include "model/tree/match.h"

#include <string.h>

static inline void pk_match_add(struct pk_match *m, const struct pk_node *node, uint32_t rule,
                                const uint32_t step[static PK_TREE_DEPTH_MAX], uint32_t depth)
{
    pk_assert(m->n < m->cap);
    struct pk_target *t = &m->v[m->n++];
    t->node = node;
    t->rule = rule;
    t->depth = depth;
    memcpy(t->step, step, sizeof t->step); /* all of it: a fixed length needs no call */
}
