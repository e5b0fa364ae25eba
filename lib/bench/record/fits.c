/* Fits: from groups of cases to coefficients. */
#include "bench/record/fits.h"

#include <string.h>

enum { FEWEST_X = 3 };

bool pk_fit_make(const struct pk_fit_row *row, const struct pk_fit_group *g, struct pk_arena *a,
                 struct pk_fit_info *out)
{
    size_t distinct = g->n > 0; /* x is ascending */
    for (size_t i = 1; i < g->n; i++)
        distinct += g->x[i] > g->x[i - 1];
    if (distinct < FEWEST_X)
        return false;
    for (size_t i = 0; i < g->n && row->kind == PK_FIT_POWER; i++)
        if (!(g->x[i] > 0 && g->y[i] > 0))
            return false;
    *out = (struct pk_fit_info){
        .name = row->name,
        .metric = row->metric,
        .axis = row->axis,
        .kind = row->kind == PK_FIT_POWER ? "power" : "line",
        .experiment = g->experiment,
        .variant = g->variant,
        .device = g->device,
        .group = g->fixed,
        .fit = row->kind == PK_FIT_POWER ? pk_fit_power(g->x, g->y, g->n, pk_new_n(a, double, 2 * g->n))
                                         : pk_fit_line(g->x, g->y, g->n),
    };
    return true;
}

enum pk_code pk_record_fits(struct pk_store *s, int64_t run_id, const struct pk_probe *probe,
                            struct pk_arena *a, struct pk_err *err)
{
    for (const struct pk_fit_row *row = probe->fits; row && row->name; row++) {
        struct pk_fit_group *groups;
        size_t n_groups, n = 0;
        if (pk_store_fit_groups(s, run_id, row->metric, row->axis, row->ignore, a, &groups, &n_groups, err))
            return err->code;
        struct pk_fit_info *fits = pk_new_n(a, struct pk_fit_info, n_groups);
        for (size_t i = 0; i < n_groups; i++)
            n += pk_fit_make(row, &groups[i], a, &fits[n]);
        if (n && pk_store_fits(s, run_id, fits, n, err))
            return err->code;
    }
    return probe->derive ? probe->derive(s, run_id, a, err) : PK_OK;
}
