/* Gate side: one run of a command per process, or one invocation of a session. */
#include "judge/gate/gate_side.h"

#include "device/choices.h"

#include <limits.h>
#include <string.h>

/* --- a command ------------------------------------------------------------------------------------------------------ */

static void command_slice(void *user, const struct pk_case_info *c, const struct pk_slice *s)
{
    const struct pk_gate_side *gate_side = user;
    pk_gate_samples_add(gate_side->samples, gate_side->side,
                        pk_gate_samples_case(gate_side->samples, gate_side->part, c), s);
}

/* A command is measured whole, whichever of its cases are wanted; when it fails none of them is measured again. */
static enum pk_code command_process(struct pk_gate_side *gate_side, const struct pk_gate_turn *t,
                                    struct pk_err *err)
{
    struct pk_command_side *c = gate_side->state;
    const struct pk_command_turn turn = {
        .pass = PK_PASS_TIMING, .invocation = t->invocation, .as_warmup = t->warmup};
    struct pk_command_result result = {.message = ""};
    if (pk_command_run(c->command, &turn, &result, err))
        return err->code;
    for (size_t i = 0; i < gate_side->samples->n_cases && result.last != PK_ST_OK; i++)
        gate_side->samples->cases[i].closed |= gate_side->samples->cases[i].part == gate_side->part;
    return PK_OK;
}

static void command_end(struct pk_gate_side *gate_side)
{
    struct pk_command_side *c = gate_side->state;
    pk_command_close(c->command);
}

void pk_gate_side_command(struct pk_gate_side *gate_side, struct pk_command_side *c)
{
    static const struct pk_gate_side_kind kind = {command_process, command_end};
    gate_side->kind = &kind;
    gate_side->state = c;
    c->events = (struct pk_command_events){.slice = command_slice, .user = gate_side};
    c->command = pk_command_open(&c->options, c->recorder, &c->events, gate_side->stop_flag, c->arena);
    pk_gate_samples_case(gate_side->samples, gate_side->part, pk_command_own(c->command));
}

/* --- cases of an experiment ----------------------------------------------------------------------------------------- */

static void experiment_slice(void *user, const struct pk_planned_case *p, const struct pk_slice *s,
                             size_t done, size_t total, int64_t left_ns)
{
    const struct pk_gate_side *gate_side = user;
    const struct pk_experiment_side *e = gate_side->state;
    pk_gate_samples_add(gate_side->samples, gate_side->side, e->first + (size_t)(p - e->run->plan.v), s);
}

static void experiment_warn(void *user, const char *text)
{
    const struct pk_gate_side *gate_side = user;
    const struct pk_experiment_side *e = gate_side->state;
    if (e->events && e->events->warning)
        e->events->warning(e->events->user, text);
}

static enum pk_code share_choices(struct pk_experiment_side *e, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_setting *chosen;
    size_t n;
    if (e->shared || pk_recorded_settings(e->run->recorder, PK_CHOICE_PREFIX, &a, &chosen, &n, err))
        return e->shared ? PK_OK : err->code;
    e->shared = true;
    for (size_t i = 0; i < n; i++)
        chosen[i].invocation = 0;
    return n ? pk_store_settings(e->other->run->store, e->other->run->run_id, chosen, n, err) : PK_OK;
}

static enum pk_code experiment_process(struct pk_gate_side *gate_side, const struct pk_gate_turn *t,
                                       struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_experiment_side *e = gate_side->state;
    struct pk_case_progress *done = pk_new_n(&a, struct pk_case_progress, e->run->plan.n);
    const struct pk_session_events events = {experiment_slice, experiment_warn, gate_side};
    struct pk_session_result result;
    for (size_t i = 0; i < e->run->plan.n; i++)
        done[i] = (struct pk_case_progress){t->wanted[e->first + i] ? t->invocation - 1 : INT_MAX, PK_ST_OK};
    e->session.invocations = t->invocation;
    e->session.as_warmup = t->warmup;
    if (pk_session_run(&e->run->plan, &e->session, &e->provider, 1, e->run->recorder, e->run->run_id,
                       e->run->case_ids, done, &events, gate_side->stop_flag, &result, err))
        return err->code;
    return share_choices(e, err);
}

static void experiment_end(struct pk_gate_side *gate_side)
{
}

void pk_gate_side_experiment(struct pk_gate_side *gate_side, struct pk_experiment_side *e)
{
    static const struct pk_gate_side_kind kind = {experiment_process, experiment_end};
    gate_side->kind = &kind;
    gate_side->state = e;
}
