/* Row: one row of a comparison as a clause. */
#include "bench/report/report.h"

#include <math.h>

/* 5.3 for a ratio of 1.053. */
static double percent(double ratio)
{
    return 100 * (ratio - 1);
}

const char *pk_report_row(const struct pk_compared *r, struct pk_arena *a)
{
    const struct pk_figures *f = r->new_;
    const struct pk_decision *d = &r->decision;
    const char *in = r->entry ? pk_printf(a, "[%s] ", r->entry) : "";
    const char *which =
        pk_printf(a, "%s%s of %s%s%s", in, f->metric, f->variant, *r->place ? " " : "", r->place);
    const char *word = r->judged ? pk_verdict_name(d->verdict) : "not judged";
    if (r->judged && d->absolute)
        return pk_printf(a, "%s: %s, %+.6g %s", which, word, d->ratio, f->unit);
    if (isnan(r->ratio.ci.lo))
        return pk_printf(a, "%s: %s (new / base %.3f)", which, word, r->ratio.ratio);
    return pk_printf(a, "%s: %s, %+.1f %% (%+.1f to %+.1f %%)", which, word, percent(r->ratio.ratio),
                     percent(r->ratio.ci.lo), percent(r->ratio.ci.hi));
}
