/* Check: a case at a check point, run once and compared with the reference. */
#include "bench/measure/steps.h"

#include "base/err.h"

enum pk_code pk_check_case(const struct pk_case *c, const char *point, struct pk_arena *a,
                           struct pk_case *out, struct pk_err *err)
{
    const struct pk_axis *axes = c->probe->axes;
    struct pk_sweep one[1][PK_AXES_MAX] = {0};
    size_t n_axes = pk_axes_count(axes), n = 0;
    for (size_t i = 0; i < n_axes; i++)
        if (!c->at.absent[i])
            one[0][i] = (struct pk_sweep){&c->at.v[i], 1};
    struct pk_sweep named[PK_AXES_MAX] = {0};
    enum pk_code rc = pk_sweeps_assign_all(axes, point, a, named, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < n_axes; i++)
        if (named[i].n)
            one[0][i] = (struct pk_sweep){named[i].v, 1};
    const struct pk_grid grid = {.axes = axes, .n_axes = n_axes, .n_blocks = 1, .sweeps = one};
    struct pk_point *points;
    rc = pk_grid_expand(&grid, a, &points, &n, err);
    if (rc)
        return rc;
    pk_assert(n > 0);
    *out = *c;
    out->at = points[0];
    return PK_OK;
}
