/* Match, add: what both matchers do with a module that matched. */
#pragma once

#include "model/tree/match.h"

/* Forgets what an earlier match found. */
static inline void pk_match_begin(struct pk_match *m)
{
    m->n = m->n_steps = 0;
    m->paths = m->calls = 0;
}

static inline void pk_match_add(struct pk_match *m, const struct pk_node *node, uint32_t rule,
                                const uint32_t *step, uint32_t depth)
{
    pk_assert(m->n < m->cap);
    struct pk_target *t = &m->v[m->n++];
    t->node = node;
    t->rule = rule;
    t->depth = depth;
    t->step = m->steps + m->n_steps;
    for (uint32_t i = 0; i < depth; i++)
        m->steps[m->n_steps++] = step[i];
}
