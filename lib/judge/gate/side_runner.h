/* Side runners: what measures a side of a gate, of two kinds. */
#pragma once

#include "bench/command/command.h"
#include "bench/run/run.h"
#include "judge/gate/gate.h"

/* Cases of an experiment, measured by a worker of a perfkit build. */
struct pk_experiment_runner {
    const struct pk_run *run; /* begun; its plan is measured */
    size_t first;             /* case i of the plan is the samples' case first + i */
    struct pk_session_options session;
    const struct pk_session_events *events; /* only warnings are used */
    struct pk_provider provider;
    struct pk_experiment_runner
        *other; /* gets the choices of this one, so that both sides use the same (device/choices.h) */
    bool shared;
};
void pk_side_runner_experiment(struct pk_side_runner *runner, struct pk_experiment_runner *e);

/* A program, measured from outside or reporting its own samples. Sides are paired by the name of the case: give both the same name. */
struct pk_command_runner {
    struct pk_command_options options;
    struct pk_recorder *recorder;
    struct pk_arena *arena;
    struct pk_command *command; /* made here */
    struct pk_command_events events;
};
void pk_side_runner_command(struct pk_side_runner *runner, struct pk_command_runner *c);
