/* Report: rows and failures as clauses, and what makes a report red. */
#include "judge/report/report.h"

#include "base/text/units.h"
#include "judge/pair/pair.h"

#include <math.h>
#include <string.h>

/* "+5.3" for a ratio of 1.053. */
static const char *percent(double ratio, struct pk_arena *a)
{
    char text[32];
    return pk_strdup(a, pk_format_percent(ratio - 1, text, sizeof text));
}

/* The same decimals for a difference and its interval: the largest of them has four digits, what is whole has none. */
static int decimals(const double *v, size_t n)
{
    double most = 0;
    bool whole = true;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs(v[i]));
        whole &= v[i] == floor(v[i]);
    }
    return whole || most >= 1000 ? 0 : (int)fmin(3 - floor(log10(most)), 9);
}

/* "-1.271 ns (-2.430 to -0.113)" */
static const char *difference(const struct pk_decision *d, const char *unit, struct pk_arena *a)
{
    const double v[] = {d->ratio, d->ci.lo, d->ci.hi};
    const bool interval = isfinite(v[1]) && isfinite(v[2]);
    const int n = decimals(v, interval ? 3 : 1);
    const bool huge = !(fabs(v[0]) < 1e9);
    const char *mean = pk_printf(a, huge ? "%+.*e %s" : "%+.*f %s", huge ? 5 : n, v[0], unit);
    return interval ? pk_printf(a, huge ? "%s (%+.*e to %+.*e)" : "%s (%+.*f to %+.*f)", mean, huge ? 5 : n,
                                v[1], huge ? 5 : n, v[2])
                    : mean;
}

const char *pk_report_case(const char *variant, const char *axes, struct pk_arena *a)
{
    const struct pk_figures f = {.variant = variant, .axes = axes};
    return pk_case_text(&f, a);
}

/* "+15.2 %", "+1.5 ns" */
static const char *slow_size(const struct pk_compared *r, struct pk_arena *a)
{
    const struct pk_decision *d = &r->decision;
    if (d->absolute)
        return pk_printf(a, "%+.3g %s", d->slow_size, r->new_->unit);
    const bool faster = pk_higher_is_better(r->new_->direction); /* so slow is less */
    return pk_printf(a, "%s %%", percent(faster ? 1 / d->slow_size : d->slow_size, a));
}

static const char *value(const struct pk_compared *r, double v, struct pk_arena *a)
{
    char text[64];
    if (strcmp(r->new_->unit, "ns") == 0)
        return pk_strdup(a, pk_format_ns(v, text, sizeof text));
    return pk_printf(a, "%.4g%s%s", v, *r->new_->unit ? " " : "", r->new_->unit);
}

const char *pk_report_slow(const struct pk_compared *r, struct pk_arena *a)
{
    const struct pk_decision *d = &r->decision;
    const size_t n = d->of_new;
    const bool pairs = r->base_runs < 2; /* else no number of pairs finds a share */
    const char *of_base = pairs ? "" : pk_printf(a, " of %zu", d->of_base);
    const char *found =
        !pairs ? ""
        : isnan(d->slow_found)
            ? " (too few pairs to find any share)"
            : pk_printf(a, " (%zu pairs find a share of %.0f %% 8 times in 10)", n, 100 * d->slow_found);
    const char *centres =
        d->slow_centre == d->other_centre
            ? ""
            : pk_printf(a, ": %s, others %s", value(r, d->slow_centre, a), value(r, d->other_centre, a));
    return pk_printf(a, "%s in %zu of %zu processes, in the base in %zu%s, by %s%s%s",
                     d->verdict == PK_SLOWER_IN_SOME ? "slower" : "slow", d->slow_new, n, d->slow_base,
                     of_base, slow_size(r, a), centres, found);
}

const char *pk_report_row(const struct pk_compared *r, struct pk_arena *a)
{
    const struct pk_figures *f = r->new_;
    const struct pk_decision *d = &r->decision;
    const char *in = r->entry ? pk_printf(a, "[%s] ", r->entry) : "";
    const char *which =
        pk_printf(a, "%s%s of %s%s%s", in, f->metric, f->variant, *r->place ? " " : "", r->place);
    const char *word = r->judged ? pk_verdict_name(d->verdict) : "not judged";
    if (r->judged && (d->verdict == PK_SLOWER_IN_SOME || (d->verdict == PK_UNSTABLE && d->slow_size > 0)))
        return pk_printf(a, "%s: %s%s", which, d->verdict == PK_UNSTABLE ? "unstable, " : "",
                         pk_report_slow(r, a));
    if (r->judged && d->absolute)
        return pk_printf(a, "%s: %s, %s", which, word, difference(d, f->unit, a));
    if (isnan(r->ratio.ci.lo))
        return pk_printf(a, r->ratio.ratio < 1e9 ? "%s: %s (new / base %.3f)" : "%s: %s (new / base %.6g)",
                         which, word, r->ratio.ratio);
    return pk_printf(a, "%s: %s, %s %% (%s to %s %%)", which, word, percent(r->ratio.ratio, a),
                     percent(r->ratio.ci.lo, a), percent(r->ratio.ci.hi, a));
}

const char *pk_failure_text(const struct pk_failure *f, struct pk_arena *a)
{
    const char *entry = f->entry ? pk_printf(a, "[%s] ", f->entry) : "";
    return pk_printf(a, "%s%s%s%s", entry, f->metric ? f->metric : "", f->metric ? " of " : "",
                     f->variant ? pk_report_case(f->variant, f->axes, a) : "all");
}

/* Whether rows and failures show it: of an outcome that is no verdict rows show nothing. */
static bool is_shown(const struct pk_report *r, enum pk_code outcome)
{
    const struct pk_verdicts v = pk_compare_count(r->comparison);
    const size_t red = v.slower + v.of[PK_UNSTABLE] + v.of[PK_UNREPLICATED];
    const bool verdict = outcome == PK_E_REGRESSION || outcome == PK_E_UNDECIDED;
    size_t failures = 0;
    for (size_t i = 0; i < r->n_failures; i++)
        failures += !r->failures[i].allowed;
    return outcome != PK_E_INTERRUPTED && (failures || (verdict && red));
}

struct pk_report pk_report_with_outcome(const struct pk_report *r, const struct pk_err *outcome,
                                        struct pk_arena *a)
{
    struct pk_report all = *r;
    if (is_shown(r, outcome->code))
        return all;
    struct pk_failure *failures = pk_new_n(a, struct pk_failure, r->n_failures + 1);
    for (size_t i = 0; i < r->n_failures; i++)
        failures[i] = r->failures[i];
    failures[all.n_failures++] = (struct pk_failure){
        .side = "both", .status = r->outcome, .message = pk_printf(a, "%s: %s", outcome->what, outcome->why)};
    all.failures = failures;
    return all;
}
