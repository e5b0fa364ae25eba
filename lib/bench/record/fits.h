/* Fits: computes a probe's fit rows from the data of a run, and stores them with the run. */
#pragma once

#include "bench/probe.h"
#include "store/read/figures.h"

/* The fit of one row over one group; false when fewer than three distinct x (and, for powers, positive numbers) are there. */
bool pk_fit_make(const struct pk_fit_row *row, const struct pk_fit_group *group, struct pk_arena *a,
                 struct pk_fit_info *out);

/* Every fit of the probe over the medians of the run's ok cases, for every group of cases that differ in the fit's axis only, of every
 * variant that measured them (peers too). Reads only the store, so fits can be computed again for any run; an existing fit is replaced. Then what
 * the probe derives besides. */
enum pk_code pk_record_fits(struct pk_store *s, int64_t run_id, const struct pk_probe *probe,
                            struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
