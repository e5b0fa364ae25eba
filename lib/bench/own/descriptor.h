/* Descriptor: what a program says of its own experiment (docs/protocol.md, the message `experiment`), read into a struct pk_probe.
 *
 * The text may come from anybody: a program, or a store that somebody sent. Every name is checked against a short list of characters,
 * every number and length against a limit; what is refused is named, and nothing of it is used. */
#pragma once

#include "bench/own/own.h"

/* Reads the descriptor. PK_E_USAGE with the member and the reason; `who` names the program or the store. Hooks, provider and call
 * are the caller's to set. */
enum pk_code pk_descriptor_read(const json_t *j, const char *who, struct pk_arena *a, struct pk_own **out,
                                struct pk_err *err) PK_MUST_CHECK;

/* Puts the axes into the order of those of another description, with new ones behind them, so that cases of both can be paired by the
 * places of axes. PK_E_NOT_COMPARABLE when it lacks an axis of the other, or one of these applies only with a new one. */
enum pk_code pk_descriptor_align(struct pk_own *own, const struct pk_own *with, struct pk_arena *a,
                                 struct pk_err *err) PK_MUST_CHECK;

/* Takes the `born` of axes over from an earlier descriptor of the same experiment and revision, so that its cases keep their identity, unless
 * this one says them itself. PK_E_NOT_COMPARABLE with what changed: the type or unit of an axis, its `born`, the unit or direction of a metric. Another
 * revision is another experiment. `where` says whose the earlier one is. */
enum pk_code pk_descriptor_check_changes(struct pk_own *own, const struct pk_own *earlier, const char *where,
                                         struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
