/* Summarize: the summaries of a slice, and of a case over its invocations. */
#pragma once

#include "store/store.h"

/* Of every metric of a timing slice that ended ok and has finite steady samples: rows[0..n), in the order of
 * its metrics. rows holds n_metrics. */
size_t pk_summarize_slice(const struct pk_slice *s, struct pk_summary_row *rows);

/* Over the invocations of one metric of one case. n >= 1; scratch holds n. */
struct pk_summary_row pk_summarize_case(const struct pk_summary_row *invocations, size_t n, double *scratch);
