/* List: what the files of this folder share, with `help EXPERIMENT`. */
#pragma once

#include "bench/probe.h"
#include "cmd/cmd.h"

/* counters.c: sources of counters, their groups and events, and which of them work here. */
/* pattern: of groups, events and sources, as file names are matched; NULL = all. `all`: also the source for tests. PK_E_USAGE when
 * nothing matches. */
enum pk_code pk_list_counters(struct pk_app *app, const char *pattern, bool all,
                              struct pk_err *err) PK_MUST_CHECK;

/* describe.c: an experiment's descriptor as rows. */

/* One row per experiment; programs also get its axes, variants, presets and metrics. */
void pk_describe_all(struct pk_out *out, bool hidden, struct pk_arena *a);

/* Tables of one experiment: axes, variants, presets, metrics. */
void pk_describe_one(struct pk_out *out, const struct pk_probe *p, struct pk_arena *a);
