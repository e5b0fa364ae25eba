/* Counters: what counter passes counted, as rows of the store: medians of events per case and region, what groups derive, and where
 * each case stands in the roofline. */
#pragma once

#include "bench/plan/plan.h"
#include "bench/record/counter_inputs.h"
#include "counter/select.h"
#include "ops/ceilings.h"
#include "store/store.h"

/* Counter pass k of a case is its slice of pass "counter" and invocation k + 1: that of counters->plans[k]. Events get their median over
 * the steady samples, of one iteration; metrics are derived from those medians, the timing passes' medians, declared work and the
 * ceilings. Scaled
 * counts are approximate, and nothing is made of counts that were scaled differently. A row "perturbation" per region says by how much
 * the slowest of the counter passes was slower than the timing passes, and which source's that was (native); its note is empty where
 * that is more than processes differ by anyway, of which one process says nothing. Every case that was timed has its roofline (roofline.h), by counted work where it was
 * counted. case_ids are those of the plan's cases.
 * Reads the store only; rows that are there already are replaced. */
enum pk_code pk_record_counters(struct pk_store *s, int64_t run_id, const struct pk_plan *plan,
                                const int64_t *case_ids, const struct pk_counters *counters,
                                const struct pk_ceilings *top, struct pk_arena *a,
                                struct pk_err *err) PK_MUST_CHECK;

/* The rows of a case that is all iteration, that nobody declares the work of, and of which this is known: of a command. */
enum pk_code pk_record_known(struct pk_store *s, int64_t case_id, const struct pk_counters *counters,
                             const struct pk_counter_inputs *known, struct pk_arena *a,
                             struct pk_err *err) PK_MUST_CHECK;
