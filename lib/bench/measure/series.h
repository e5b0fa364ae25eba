/* Series: a sampler's rows as the series of a slice. Inner part of measure.c. */
#pragma once

#include "bench/measure/stop.h"

/* Fills out->metrics and out->series, in `a`: per region instance and phase its _ns and _host_ns, per gauge and phase its bytes, and
 * peak_bytes once. */
void pk_series_pack(const struct pk_stopper *st, size_t peak_bytes, struct pk_arena *a, struct pk_slice *out);
