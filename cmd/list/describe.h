/* Describe: an experiment's descriptor as rows: what `list experiments` and `help run EXPERIMENT` print. */
#pragma once

#include "bench/probe.h"
#include "opt/opt.h"
#include "out/out.h"

/* One row per experiment; programs also get its axes, variants, presets and metrics. */
void pk_describe_all(struct pk_out *out, bool hidden, struct pk_arena *a);

/* Tables of one experiment: axes, variants, presets, metrics. */
void pk_describe_one(struct pk_out *out, const struct pk_probe *p, struct pk_arena *a);
