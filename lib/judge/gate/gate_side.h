/* Gate side: the two kinds of side that a gate can have. */
#pragma once

#include "bench/command/command.h"
#include "bench/run/run.h"
#include "judge/gate/gate.h"

/* Cases of an experiment, measured by a worker of a perfkit build. */
struct pk_experiment_side {
    const struct pk_run *run; /* begun; its plan is measured */
    size_t first;             /* case i of the plan is the samples' case first + i */
    struct pk_session_options session;
    const struct pk_session_events *events; /* only warnings are used */
    struct pk_provider provider;
    struct pk_experiment_side
        *other; /* gets the choices of this one, so that both sides use the same (device/choices.h) */
    bool shared;
};
void pk_gate_side_experiment(struct pk_gate_side *gate_side, struct pk_experiment_side *e);

/* A program, measured from outside or reporting its own samples. Sides are paired by the name of the case: give both the same name. */
struct pk_command_side {
    struct pk_command_options options;
    struct pk_recorder *recorder;
    struct pk_arena *arena;
    struct pk_command *command; /* made here */
    struct pk_command_events events;
};
void pk_gate_side_command(struct pk_gate_side *gate_side, struct pk_command_side *c);
