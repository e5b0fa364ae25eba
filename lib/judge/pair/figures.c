/* Figures: what one row of figures or two say by themselves: centre, ratio, the keys by which they are matched, their case. */
#include "judge/pair/pair.h"

#include "bench/probe.h"
#include "json/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool pk_higher_is_better(const char *direction)
{
    return strcmp(direction, "higher") == 0;
}

bool pk_has_direction(const char *direction)
{
    return strcmp(direction, "lower") == 0 || pk_higher_is_better(direction);
}

double pk_speedup(const char *direction, double ratio)
{
    if (!pk_has_direction(direction))
        return NAN;
    return pk_higher_is_better(direction) ? ratio : 1 / ratio;
}

bool pk_figures_of_command(const struct pk_figures *f)
{
    if (!pk_is_exec(f->experiment))
        return false;
    PK_JSON_CLEANUP json_t *axes = json_loads(f->axes, 0, NULL);
    return json_object_size(axes) == 1 && json_is_string(json_object_get(axes, "command"));
}

bool pk_figures_opposed(const struct pk_figures *base, const struct pk_figures *new_)
{
    return pk_has_direction(base->direction) && strcmp(base->direction, new_->direction) != 0;
}

const char *pk_figures_opposed_text(const struct pk_figures *base, const struct pk_figures *new_,
                                    const char *in_base, const char *in_new, struct pk_arena *a)
{
    const bool any = pk_has_direction(new_->direction);
    return pk_printf(a, "%s is better when %s %s and %s%s %s", base->metric, base->direction, in_base,
                     any ? "when " : "has no direction", any ? new_->direction : "", in_new);
}

bool pk_figures_other_source(const struct pk_figures *x, const struct pk_figures *y)
{
    return (x->source && strcmp(x->source, "program") == 0) !=
           (y->source && strcmp(y->source, "program") == 0);
}

double pk_figures_centre(const struct pk_figures *f)
{
    double sum = 0;
    size_t equal = 0;
    while (equal < f->n && f->figure[equal] == f->figure[0])
        equal++;
    if (equal && equal == f->n) /* as it is: exact figures are held against each other to the last digit */
        return f->figure[0];
    if (!pk_all_positive(f->figure, f->n))
        return f->median;
    for (size_t i = 0; i < f->n; i++)
        sum += log(f->figure[i]) / (double)f->n;
    return exp(sum);
}

double pk_figures_median(const struct pk_figures *f, struct pk_arena *a)
{
    double *sorted = pk_new_n(a, double, f->n);
    memcpy(sorted, f->figure, f->n * sizeof *sorted);
    return pk_median_of(sorted, f->n);
}

/* The median of the processes with its interval, as v_summary has it. */
static struct pk_median interval_of(const struct pk_figures *f, double level)
{
    PK_ARENA_CLEANUP struct pk_arena own = {0};
    double *sorted = pk_new_n(&own, double, f->n + 1);
    memcpy(sorted, f->figure, f->n * sizeof *sorted);
    return (struct pk_median){f->median, pk_invocations_interval(sorted, f->n, level)};
}

double pk_figures_uncertainty(const struct pk_figures *f)
{
    const struct pk_median m = interval_of(f, 0.95);
    return m.median != 0 ? fmax(m.ci.hi - m.median, m.median - m.ci.lo) / fabs(m.median) : NAN;
}

bool pk_figures_of_runs(const struct pk_figures *b, const struct pk_figures *f)
{
    return b->runs || f->runs;
}

struct pk_compared pk_compare_figures(const struct pk_figures *b, const struct pk_figures *f, double level)
{
    struct pk_ratio r = {.ratio = NAN, .ci = {NAN, NAN}, .p = NAN, .df = NAN};
    if (pk_all_positive(b->figure, b->n) && pk_all_positive(f->figure, f->n))
        r = pk_figures_of_runs(b, f) ? pk_ratio_welch(b->figure, b->n, f->figure, f->n, level)
                                     : pk_ratio_of_medians(interval_of(b, level), interval_of(f, level));
    return (struct pk_compared){.base = b,
                                .new_ = f,
                                .ratio = r,
                                .speedup = pk_speedup(f->direction, r.ratio),
                                .unstable = b->unstable || f->unstable};
}

/* No name contains the ASCII unit separator. Copied piece by piece, because a run may have a hundred thousand cases. */
const char *pk_key_between_runs(const struct pk_figures *f, struct pk_arena *a)
{
    char revision[24];
    snprintf(revision, sizeof revision, "%" PRId64, f->revision);
    const size_t class_bytes = strcspn(f->device, ":");
    const char *const parts[] = {f->experiment, revision, f->variant, f->identity, f->metric, f->unit};
    size_t bytes = class_bytes + 1, n[sizeof parts / sizeof *parts];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        bytes += 1 + (n[i] = strlen(parts[i]));
    char *key = pk_alloc(a, bytes), *at = key;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        memcpy(at, parts[i], n[i]);
        at[n[i]] = '\x1f';
        at += n[i] + 1;
    }
    memcpy(at, f->device, class_bytes);
    return key;
}

const char *pk_key_of(const struct pk_figures *f, const struct pk_compare_options *o, struct pk_arena *a)
{
    return o->by_ordinal ? pk_printf(a, "%" PRId64 "\x1f%s\x1f%s", f->ordinal, f->metric, f->unit)
                         : pk_key_between_runs(f, a);
}

const char *pk_case_text(const struct pk_figures *f, struct pk_arena *a)
{
    return strcmp(f->axes, "{}") ? pk_printf(a, "%s %s", f->variant, pk_axes_words(f->axes, a)) : f->variant;
}
