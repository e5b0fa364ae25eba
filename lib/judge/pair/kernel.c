/* Kernel: which kernel or op explains that a time changed. */
#include "judge/pair/pair.h"

#include "base/text/units.h"
#include "timeline/breakdown_note.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* "forward_ns" is the time of region "forward". */
static bool is_region(const struct pk_kernel_figure *k, const struct pk_figures *f)
{
    const size_t n = strlen(k->region);
    return !strncmp(f->metric, k->region, n) && !strcmp(f->metric + n, "_ns") &&
           !strcmp(k->variant, f->variant) && !strcmp(k->axes, f->axes);
}

/* What is known of a name in a region of a side's traced case: its time, or, where it is not listed, the most that it can have taken. */
struct kernel_time {
    double ns;
    bool listed;
};

static struct kernel_time find_kernel(const char *name, const struct pk_figures *f,
                                      const struct pk_compare_kernels *side)
{
    size_t n = 0;
    double least = INFINITY;
    for (size_t i = 0; i < side->n; i++) {
        const struct pk_kernel_figure *k = &side->v[i];
        if (strcmp(k->variant, f->variant) != 0 || strcmp(k->axes, f->axes) != 0)
            continue;
        if (is_region(k, f) && !strcmp(k->name, name))
            return (struct kernel_time){(double)k->time_ns, true};
        n++;
        least = fmin(least, (double)k->time_ns);
    }
    return (struct kernel_time){n < PK_KERNELS_NOTED ? 0 : least,
                                false}; /* a full list leaves out the shortest */
}

static bool traced(const struct pk_figures *f, const struct pk_compare_kernels *side)
{
    for (size_t i = 0; i < side->n; i++)
        if (is_region(&side->v[i], f))
            return true;
    return false;
}

struct change {
    const char *name; /* NULL = none */
    struct kernel_time before, after;
    double ns; /* at least so much more, in the direction of the time */
};

static const char *change_text(const struct change *c, struct pk_arena *a)
{
    char ns[32], share[64];
    const bool more = c->after.ns > c->before.ns;
    const struct kernel_time *unlisted = c->before.listed ? &c->after : &c->before;
    const bool at_least = !unlisted->listed && unlisted->ns > 0;
    if (c->before.listed && c->after.listed)
        snprintf(share, sizeof share, "%+.0f %%", 100 * (c->after.ns / c->before.ns - 1));
    else if (at_least)
        snprintf(share, sizeof share, "%s among the longest", more ? "it was not" : "it is no longer");
    else
        snprintf(share, sizeof share, more ? "new" : "gone");
    pk_format_ns(c->ns, ns, sizeof ns);
    return pk_printf(a, "%s took %s%s %s (%s)", c->name, at_least ? "at least " : "", ns,
                     more ? "more" : "less", share);
}

const char *pk_compare_kernel(const struct pk_compared *row, const struct pk_compare_kernels *base,
                              const struct pk_compare_kernels *new_, struct pk_arena *a)
{
    const double direction = row->ratio.ratio > 1 ? 1 : -1;
    struct change most = {0};
    if (!(row->ratio.ratio > 0) || !traced(row->base, base) || !traced(row->new_, new_))
        return NULL;
    for (size_t i = 0; i < base->n + new_->n; i++) {
        const bool of_base = i < base->n;
        const struct pk_kernel_figure *k = of_base ? &base->v[i] : &new_->v[i - base->n];
        if (!is_region(k, of_base ? row->base : row->new_))
            continue;
        const struct kernel_time before = find_kernel(k->name, row->base, base),
                                 after = find_kernel(k->name, row->new_, new_);
        const double ns = (after.ns - before.ns) * direction;
        if (ns > most.ns)
            most = (struct change){k->name, before, after, ns};
    }
    return most.name ? change_text(&most, a) : NULL;
}
