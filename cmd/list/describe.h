/* Describe: an experiment's descriptor as rows: what `list experiments` and `help run EXPERIMENT` print. */
#pragma once

#include "bench/probe.h"
#include "opt/opt.h"
#include "out/out.h"

/* One row per experiment; programs also get its axes, variants, presets and metrics. */
void pk_describe_all(struct pk_out *out, bool hidden, struct pk_arena *a);

/* Tables of one experiment: axes, variants, presets, metrics. */
void pk_describe_one(struct pk_out *out, const struct pk_probe *p, struct pk_arena *a);

/* Adds the names of the experiments that are shown. */
void pk_describe_names(struct pk_texts *names, struct pk_arena *a);

/* A usage error with a did-you-mean when there is none of this name. */
enum pk_code pk_describe_find(const char *name, const struct pk_probe **p, struct pk_err *err) PK_MUST_CHECK;
