/* Experiment arm: one invocation of a session per process. */
#include "judge/gate/arms.h"

#include "device/choices.h"

#include <limits.h>
#include <string.h>

static void hear(void *user, const struct pk_planned *p, const struct pk_slice *s, size_t done, size_t total,
                 int64_t left_ns)
{
    const struct pk_arm *arm = user;
    const struct pk_experiment_arm *e = arm->state;
    pk_gate_samples_add(arm->samples, arm->side, e->first + (size_t)(p - e->plan->v), s);
}

static void warn(void *user, const char *text)
{
    const struct pk_arm *arm = user;
    const struct pk_experiment_arm *e = arm->state;
    if (e->events && e->events->warning)
        e->events->warning(e->events->user, text);
}

static enum pk_code share_choices(struct pk_experiment_arm *e, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_setting *chosen;
    size_t n;
    if (e->told || pk_recorded_settings(e->recorder, PK_CHOICE_PREFIX, &a, &chosen, &n, err))
        return e->told ? PK_OK : err->code;
    e->told = true;
    for (size_t i = 0; i < n; i++)
        chosen[i].invocation = 0;
    return n ? pk_store_settings(e->other->store, e->other->run_id, chosen, n, err) : PK_OK;
}

static enum pk_code process(struct pk_arm *arm, int invocation, const bool *wanted, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_experiment_arm *e = arm->state;
    struct pk_done *done = pk_new_n(&a, struct pk_done, e->plan->n);
    const struct pk_session_events events = {hear, warn, arm};
    struct pk_session_result result;
    for (size_t i = 0; i < e->plan->n; i++)
        done[i] = (struct pk_done){wanted[e->first + i] ? invocation - 1 : INT_MAX, PK_ST_OK};
    e->session.invocations = invocation;
    if (pk_session_run(e->plan, &e->session, &e->provider, 1, e->recorder, e->run_id, e->case_ids, done,
                       &events, arm->stop_flag, &result, err))
        return err->code;
    return share_choices(e, err);
}

static void end(struct pk_arm *arm)
{
}

void pk_arm_experiment(struct pk_arm *arm, struct pk_experiment_arm *e)
{
    static const struct pk_arm_kind kind = {process, end};
    arm->kind = &kind;
    arm->state = e;
}
