/* Repeat: times regions that are too short for the clock, over many repetitions inside one pair of marks.
 *
 * A region that is `.repeatable` in a case does nothing that a second time would undo or make cheaper than the first.
 * run() hands its work to pk_repeat, which marks it; the harness finds how many repetitions make it 20 us long
 * (1 until that is known, always 1 with --once), subtracts what an empty unit costs in the same loop, and records the total with the
 * series' `reps`. The note "unit_overhead_ns" of a slice is what was subtracted for one repetition.
 * Not inside another region: that one would last as many times longer.
 * On the null device the unit is called once and the region's declared work lets time pass for every repetition. */
#pragma once

#include "bench/probe.h"

typedef void pk_unit_fn(void *user);

/* Marks `region` on PK_LANE_HOST and calls unit(user) ctx->reps[region] times. The compiler sees neither: every call happens and
 * what it wrote is kept. */
void pk_repeat(struct pk_ctx *ctx, unsigned region, pk_unit_fn *unit, void *user);

/* What one call of an empty unit costs in pk_repeat's loop: the least of many tries, about a millisecond in all. 0 on the null
 * device, whose clock stands still. */
double pk_unit_overhead_ns(struct pk_device *dev);
