/* Kernel: which kernel or op explains that a time changed. */
#include "bench/compare/compare.h"

#include "base/units.h"

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

static const struct pk_kernel_figure *counterpart(const struct pk_kernel_figure *k,
                                                  const struct pk_figures *f,
                                                  const struct pk_compare_kernels *side)
{
    for (size_t i = 0; i < side->n; i++)
        if (is_region(&side->v[i], f) && !strcmp(side->v[i].name, k->name))
            return &side->v[i];
    return NULL;
}

static bool traced(const struct pk_figures *f, const struct pk_compare_kernels *side)
{
    for (size_t i = 0; i < side->n; i++)
        if (is_region(&side->v[i], f))
            return true;
    return false;
}

const char *pk_compare_kernel(const struct pk_compared *row, const struct pk_compare_kernels *base,
                              const struct pk_compare_kernels *new_, struct pk_arena *a)
{
    const double direction = row->ratio.ratio > 1 ? 1 : -1;
    const struct pk_kernel_figure *most = NULL;
    double change = 0, before = 0;
    if (!(row->ratio.ratio > 0) || !traced(row->base, base))
        return NULL;
    for (size_t i = 0; i < new_->n; i++) {
        const struct pk_kernel_figure *k = &new_->v[i];
        if (!is_region(k, row->new_))
            continue;
        const struct pk_kernel_figure *was = counterpart(k, row->base, base);
        const double d = (double)k->time_ns - (was ? (double)was->time_ns : 0);
        if (d * direction > change * direction) {
            most = k;
            change = d;
            before = was ? (double)was->time_ns : 0;
        }
    }
    char ns[32], share[32] = "new";
    if (!most)
        return NULL;
    if (before > 0)
        snprintf(share, sizeof share, "%+.0f %%", 100 * change / before);
    pk_format_ns(fabs(change), ns, sizeof ns);
    return pk_printf(a, "%s took %s %s (%s)", most->name, ns, change > 0 ? "more" : "less", share);
}
