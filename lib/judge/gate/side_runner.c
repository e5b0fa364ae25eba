/* Side runners: one run of a command per process, or one invocation of a session. */
#include "judge/gate/side_runner.h"

#include "device/choices.h"

#include <limits.h>
#include <string.h>

/* --- a command ------------------------------------------------------------------------------------------------------ */

static void command_slice(void *user, const struct pk_case_info *c, const struct pk_slice *s)
{
    const struct pk_side_runner *runner = user;
    pk_gate_samples_add(runner->samples, runner->side, pk_gate_samples_case(runner->samples, runner->part, c),
                        s);
}

/* A command is measured whole, whichever of its cases are wanted; when it fails none of them is measured again. */
static enum pk_code command_process(struct pk_side_runner *runner, const struct pk_gate_turn *t,
                                    struct pk_err *err)
{
    struct pk_command_runner *c = runner->state;
    const struct pk_command_turn turn = {
        .pass = PK_PASS_TIMING, .invocation = t->invocation, .as_warmup = t->warmup};
    struct pk_command_result result = {.message = ""};
    if (pk_command_run(c->command, &turn, &result, err))
        return err->code;
    for (size_t i = 0; i < runner->samples->n_cases && result.last != PK_ST_OK; i++)
        runner->samples->cases[i].closed |= runner->samples->cases[i].part == runner->part;
    return PK_OK;
}

static void command_end(struct pk_side_runner *runner)
{
    struct pk_command_runner *c = runner->state;
    pk_command_close(c->command);
}

void pk_side_runner_command(struct pk_side_runner *runner, struct pk_command_runner *c)
{
    static const struct pk_side_runner_kind kind = {command_process, command_end};
    runner->kind = &kind;
    runner->state = c;
    c->events = (struct pk_command_events){.slice = command_slice, .user = runner};
    c->command = pk_command_open(&c->options, c->recorder, &c->events, runner->stop_flag, c->arena);
    pk_gate_samples_case(runner->samples, runner->part, pk_command_own(c->command));
}

/* --- cases of an experiment ----------------------------------------------------------------------------------------- */

static void experiment_slice(void *user, const struct pk_planned_case *p, const struct pk_slice *s,
                             size_t done, size_t total, int64_t left_ns)
{
    const struct pk_side_runner *runner = user;
    const struct pk_experiment_runner *e = runner->state;
    pk_gate_samples_add(runner->samples, runner->side, e->first + (size_t)(p - e->run->plan.v), s);
}

static void experiment_warn(void *user, const char *text)
{
    const struct pk_side_runner *runner = user;
    const struct pk_experiment_runner *e = runner->state;
    if (e->events && e->events->warning)
        e->events->warning(e->events->user, text);
}

static enum pk_code share_choices(struct pk_experiment_runner *e, struct pk_err *err)
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

static enum pk_code experiment_process(struct pk_side_runner *runner, const struct pk_gate_turn *t,
                                       struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_experiment_runner *e = runner->state;
    struct pk_case_progress *done = pk_new_n(&a, struct pk_case_progress, e->run->plan.n);
    const struct pk_session_events events = {experiment_slice, experiment_warn, runner};
    struct pk_session_result result;
    for (size_t i = 0; i < e->run->plan.n; i++)
        done[i] = (struct pk_case_progress){t->wanted[e->first + i] ? t->invocation - 1 : INT_MAX, PK_ST_OK};
    e->session.invocations = t->invocation;
    e->session.as_warmup = t->warmup;
    if (pk_session_run(&e->run->plan, &e->session, &e->provider, 1, e->run->recorder, e->run->run_id,
                       e->run->case_ids, done, &events, runner->stop_flag, &result, err))
        return err->code;
    return share_choices(e, err);
}

static void experiment_end(struct pk_side_runner *runner)
{
}

void pk_side_runner_experiment(struct pk_side_runner *runner, struct pk_experiment_runner *e)
{
    static const struct pk_side_runner_kind kind = {experiment_process, experiment_end};
    runner->kind = &kind;
    runner->state = e;
}
