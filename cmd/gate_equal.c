/* gate, equal sides: the same program with the same words, or settings of the same cases, is an A/A comparison. */
#include "cmd/gate.h"

#include "bench/record/works.h"
#include "judge/gate/same_program.h"

#include <string.h>

static bool same_cases(const struct gate_entry *e)
{
    struct pk_arena *a = e->app->arena;
    const struct pk_plan *base = &e->side[PK_BASE].run.plan, *new_ = &e->side[PK_NEW].run.plan;
    for (size_t i = 0; i < base->n; i++) {
        const struct pk_case_info x = pk_planned_info(base, i, a), y = pk_planned_info(new_, i, a);
        if (strcmp(x.variant, y.variant) || strcmp(x.device, y.device) || strcmp(x.axes, y.axes))
            return false;
    }
    return true;
}

bool pk_gate_equal(const struct gate_entry *e)
{
    if (e->side[PK_BASE].is_settings)
        return same_cases(e);
    return pk_same_program(e->side[PK_BASE].argv, e->side[PK_NEW].argv, e->app->arena);
}

bool pk_gate_all_equal(const struct gate *g)
{
    size_t i = 0;
    while (i < g->n_entries && g->entries[i].equal)
        i++;
    return i == g->n_entries;
}
