/* gate, its cases: those of both sides planned and matched, and whether both sides are the same thing. */
#include "cmd/gate.h"

#include "judge/gate/gate_cases.h"
#include "judge/gate/same_program.h"

static enum pk_code plan_side(struct gate_entry *e, struct gate_side *s, struct pk_err *err)
{
    struct run *r = &s->run;
    enum pk_code rc = pk_run_choose_device(r, err);
    if (!rc)
        rc = pk_run_make_plan(r, err);
    if (rc)
        return rc;
    struct pk_texts axes = r->o->axes, variants = r->o->variants;
    *r->o = e->o->run; /* with what the preset says */
    r->o->axes = axes;
    r->o->variants = variants;
    r->ceilings_key = pk_ceilings_key(r->device, &r->device_options, e->app->arena);
    return PK_OK;
}

static void plans_of(struct gate_entry *e, struct pk_gate_plan plans[PK_SIDES])
{
    for (int i = 0; i < PK_SIDES; i++)
        plans[i] = (struct pk_gate_plan){e->side[i].option, e->side[i].is_settings ? e->side[i].text : NULL,
                                         &e->side[i].run.plan};
}

enum pk_code pk_gate_plan(struct gate *g, size_t part, struct pk_err *err)
{
    struct gate_entry *e = &g->entries[part];
    struct pk_gate_plan plans[PK_SIDES];
    const char *warning;
    e->side[PK_NEW].run.said = &e->side[PK_BASE].run.plan;
    for (int i = 0; i < PK_SIDES; i++)
        if (plan_side(e, &e->side[i], err))
            return err->code;
    plans_of(e, plans);
    for (int i = 0; i < PK_SIDES; i++)
        e->side[i].experiment.first = g->samples.n_cases;
    if (pk_gate_match_cases(plans, &g->samples, part, &warning, err))
        return err->code;
    if (warning)
        pk_warn(e->app, "%s", warning);
    return PK_OK;
}

bool pk_gate_equal(struct gate_entry *e)
{
    struct pk_gate_plan plans[PK_SIDES];
    plans_of(e, plans);
    return e->side[PK_BASE].is_settings
               ? pk_gate_same_cases(plans, e->app->arena)
               : pk_same_program(e->side[PK_BASE].argv, e->side[PK_NEW].argv, e->app->arena);
}

bool pk_gate_all_equal(const struct gate *g)
{
    size_t i = 0;
    while (i < g->n_entries && g->entries[i].equal)
        i++;
    return i == g->n_entries;
}
