/* Troubles: cases and metrics that should have been compared and could not be. Part of gate and compare. */
#pragma once

#include "judge/report/report.h"

struct pk_trouble {
    const char *side;  /* "b", "new" */
    const char *entry; /* of the suite; NULL = no suite */
    const char *experiment;
    const char *variant, *axes; /* NULL = no one case */
    const char *metric;         /* NULL = all of them */
    const char *status, *message;
};

/* The table "not_compared"; nothing when there is none. */
void pk_troubles_print(const struct pk_trouble *v, size_t n, struct pk_out *out);

/* The same n, for reports. */
const struct pk_report_problem *pk_troubles_report(const struct pk_trouble *v, size_t n, struct pk_arena *a);
