/* Command arm: one run of a command per process. */
#include "judge/gate/arms.h"

static void hear(void *user, const struct pk_case_info *c, const struct pk_slice *s)
{
    const struct pk_arm *arm = user;
    pk_gate_samples_add(arm->samples, arm->side, pk_gate_samples_case(arm->samples, arm->part, c), s);
}

/* A command is measured whole, whichever of its cases are wanted; when it fails none of them is measured again. */
static enum pk_code process(struct pk_arm *arm, int invocation, const bool *wanted, struct pk_err *err)
{
    struct pk_command_arm *c = arm->state;
    const struct pk_command_turn turn = {.pass = PK_PASS_TIMING, .invocation = invocation};
    struct pk_command_result result = {.message = ""};
    if (pk_command_run(c->command, &turn, &result, err))
        return err->code;
    for (size_t i = 0; i < arm->samples->n_cases && result.last != PK_ST_OK; i++)
        arm->samples->cases[i].closed |= arm->samples->cases[i].part == arm->part;
    return PK_OK;
}

static void end(struct pk_arm *arm)
{
    struct pk_command_arm *c = arm->state;
    pk_command_close(c->command);
}

void pk_arm_command(struct pk_arm *arm, struct pk_command_arm *c)
{
    static const struct pk_arm_kind kind = {process, end};
    arm->kind = &kind;
    arm->state = c;
    c->events = (struct pk_command_events){.slice = hear, .user = arm};
    c->command = pk_command_open(&c->options, c->recorder, &c->events, arm->stop_flag, c->arena);
    pk_gate_samples_case(arm->samples, arm->part, pk_command_own(c->command));
}
