/* Counters: counts of two sides as pairs, and which of them explain a change of time. */
#include "judge/pair/pair.h"

#include "base/text/buf.h"

#include <math.h>
#include <string.h>

void pk_compare_counters(const struct pk_compare_side *base, const struct pk_compare_side *new_,
                         const struct pk_compare_options *o, struct pk_arena *a, struct pk_comparison *out)
{
    const struct pk_compare_options all = {
        .all_metrics = true, .by = o->by, .base = o->base, .by_ordinal = o->by_ordinal, .level = o->level};
    struct pk_err nothing_in_common;
    *out = (struct pk_comparison){.common = ""};
    if (!base->n || (new_ && !new_->n))
        return;
    if (new_ ? pk_compare_runs(base, new_, &all, a, out, &nothing_in_common)
             : pk_compare_by(base, &all, a, out, &nothing_in_common))
        out->n = 0;
}

/* --- the reason -------------------------------------------------------------------------------------------------------- */

static bool same_case(const struct pk_figures *x, const struct pk_figures *y)
{
    return !strcmp(x->variant, y->variant) && !strcmp(x->axes, y->axes) && !strcmp(x->device, y->device);
}

/* The name of a count of the region whose time is `time` ("forward_ns"), else NULL. Of a command the whole is counted. */
static const char *count_of(const struct pk_figures *count, const char *time)
{
    const char *name = strchr(count->metric, '.'),
               *region = strcmp(time, "wall_ns") == 0 ? "iteration_ns" : time;
    const size_t n = (size_t)(name - count->metric);
    if (strncmp(region, count->metric, n) != 0 || strcmp(region + n, "_ns") != 0)
        return NULL;
    return name + 1 + (*count->class ? strlen(count->class) + 1 : 0);
}

/* How far from no change; from or to nothing is the farthest. */
static double distance(const struct pk_compared *c)
{
    if (isnan(c->ratio.ratio))
        return c->base->median == c->new_->median ? 0 : INFINITY;
    return fabs(log(c->ratio.ratio));
}

enum { MOST_NAMED = 3 };

/* Into most[0..n), the farthest first. */
static size_t keep_farthest(const struct pk_compared **most, size_t n, const struct pk_compared *c)
{
    size_t at = n;
    while (at && distance(c) > distance(most[at - 1]))
        at--;
    if (at == MOST_NAMED)
        return n;
    n = n < MOST_NAMED ? n + 1 : n;
    memmove(&most[at + 1], &most[at], (n - 1 - at) * sizeof *most);
    most[at] = c;
    return n;
}

static void print_change(struct pk_buf *b, const char *name, const struct pk_compared *c)
{
    const double ratio = c->ratio.ratio;
    pk_buf_printf(b, "%s ", name);
    if (ratio > 0.1 && ratio < 10)
        pk_buf_printf(b, "%+.0f %%", 100 * (ratio - 1));
    else
        pk_buf_printf(b, "%.6g -> %.6g", c->base->median, c->new_->median);
}

/* What cycles say of the cause: they are the work's, whatever the clock. NULL: neither. */
static const char *cycles_evidence(const struct pk_compared *time, const struct pk_compared *cycles)
{
    const double changed = log(time->ratio.ratio), counted = log(cycles->ratio.ratio),
                 small = log1p(pk_rule_default.min_effect);
    if (fabs(changed) <= small)
        return NULL;
    if (fabs(counted) <= small)
        return "the clock changed, or the time that it waited, not the work";
    return fabs(counted - changed) <= fmax(small, fabs(changed) / 4)
               ? "as the time, so the work changed, not the clock"
               : NULL;
}

const char *pk_compare_counts(const struct pk_compared *row, const struct pk_comparison *counters,
                              struct pk_arena *a)
{
    const struct pk_compared *most[MOST_NAMED], *cycles = NULL;
    size_t n = 0;
    for (size_t i = 0; i < counters->n; i++) {
        const struct pk_compared *c = &counters->v[i];
        const char *name = same_case(c->base, row->base) && same_case(c->new_, row->new_)
                               ? count_of(c->new_, row->new_->metric)
                               : NULL;
        if (name && strcmp(name, "cycles") == 0 && cycles_evidence(row, c))
            cycles = c;
        else if (name && distance(c) > log1p(pk_rule_default.min_effect))
            n = keep_farthest(most, n, c);
    }
    struct pk_buf b = {.arena = a};
    for (size_t i = 0; i < n; i++) {
        pk_buf_str(&b, i ? ", " : "counted ");
        print_change(&b, count_of(most[i]->new_, row->new_->metric), most[i]);
    }
    if (cycles) {
        pk_buf_str(&b, n ? "; " : "counted ");
        print_change(&b, "cycles", cycles);
        pk_buf_printf(&b, ": %s", cycles_evidence(row, cycles));
    }
    return n || cycles ? pk_buf_text(&b) : NULL;
}
