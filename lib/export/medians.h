/* Export, medians: the rows that all formats are made of. */
#pragma once

#include "export/export.h"

/* The median of a metric of a case. Texts are safe to print. */
struct pk_median_row {
    int64_t run;
    const char
        *benchmark; /* "attention-scaling flash seq_len=256", "... (cuda)" on another device than the CPU */
    const char *experiment, *variant, *device, *axes; /* axes: "seq_len=256" */
    const char *metric, *unit, *direction;
    double median, ci_low, ci_high; /* an end that is not known is NaN */
    int64_t n, invocations;
};

struct pk_median_rows {
    struct pk_median_row *v;
    size_t n, cap;
};

/* openmetrics.c: families in the order of their names. */
const char *pk_export_openmetrics(const struct pk_median_rows *rows, struct pk_arena *a);
