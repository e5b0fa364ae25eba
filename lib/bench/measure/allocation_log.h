/* Ledger: every allocation of one iteration, written down: who takes device memory, when, and for what. Inner part of measure.c.
 *
 * Of a captured variant the iteration runs uncaptured: a replay allocates nothing. The note "memory":
 *   {"whole": true,                                    false: allocations were left out
 *    "start_bytes": N, "allocations": N,
 *    "regions":  [{"region", "bytes", TAG: bytes}],    the highest moment while it was the innermost open region, its
 *                                                    beginning among them where it holds no other; "outside" of all
 *    "timeline": [the same]}                           the highest of each of at most PK_LEDGER_POINTS stretches of as many allocations
 * Tags are the pool's (device/pool.h), those of 0 bytes left out. */
#pragma once

#include "bench/measure/sample.h"

enum { PK_LEDGER_POINTS = 32 };

struct pk_ledger;
struct pk_notes;

/* In `a`, with room for one iteration. */
struct pk_ledger *pk_ledger_open(struct pk_device *dev, struct pk_arena *a);
/* An iteration is written down before the first sample that s takes from now on. */
void pk_ledger_attach(struct pk_ledger *l, struct pk_sampler *s);
void pk_ledger_pack(const struct pk_ledger *l, struct pk_notes *notes);
