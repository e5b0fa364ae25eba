/* Levels: from the rates over size to a rate for each level of memory, and the level of a case. */
#include "ops/ceilings/ceilings.h"

#include <math.h>

double pk_ceilings_bandwidth(const struct pk_ceilings *c, double bytes)
{
    for (size_t i = 0; i < PK_LEVEL_MEMORY && bytes > 0; i++)
        if (c->level[i].bytes_per_s > 0 && bytes <= c->level[i].to_bytes)
            return c->level[i].bytes_per_s;
    return c->memory_bytes_per_s;
}

void pk_ceilings_of_curve(const struct pk_curve *c, const double cache_bytes[PK_LEVEL_BETWEEN],
                          struct pk_ceilings *out)
{
    out->memory_bytes_per_s = c->memory_bytes_per_s;
    out->copy_bytes_per_s = c->copy_bytes_per_s;
    for (size_t i = 0; i < c->n; i++) {
        const struct pk_curve_point *p = &c->points[i];
        if (p->level == PK_LEVEL_MEMORY)
            continue;
        struct pk_level_rate *l = &out->level[p->level];
        l->to_bytes = p->level == PK_LEVEL_BETWEEN ? (double)p->bytes : cache_bytes[p->level];
        l->bytes_per_s = fmax(l->bytes_per_s, pk_curve_rate(p));
        l->copy_bytes_per_s = fmax(l->copy_bytes_per_s, p->rate[PK_STREAM_COPY]);
    }
}
