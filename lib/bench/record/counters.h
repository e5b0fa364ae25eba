/* Counters: what counter passes counted, as rows of the store: medians of events per case and region, and what groups derive. */
#pragma once

#include "bench/probe.h"
#include "counter/select.h"
#include "ops/ceilings.h"
#include "store/store.h"

/* Counter pass k of a case is its slice of pass "counter" and invocation k + 1: that of counters->plans[k]. Events get their median over
 * the steady samples, of one iteration; metrics are derived from those medians, the timing passes' medians, declared work and the
 * ceilings. A row "perturbation" per region says by how much the slowest of the counter passes was slower than the timing passes. Reads
 * the store only; rows that are there already are replaced. */
enum pk_code pk_record_counters(struct pk_store *s, int64_t run_id, const struct pk_probe *probe,
                                const struct pk_counters *counters, const struct pk_ceilings *top,
                                struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
