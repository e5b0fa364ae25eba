/* Block: assignments of sweeps, one or several separated by spaces. */
#include "bench/block.h"

#include <string.h>

enum pk_code pk_block_assign(const struct pk_axis *axes, const char *assignment, struct pk_arena *a,
                             struct pk_sweep *sweeps, struct pk_err *err)
{
    size_t axis;
    struct pk_sweep sweep;
    enum pk_code rc = pk_axis_assign(axes, assignment, a, &axis, &sweep, err);
    if (rc)
        return rc;
    if (sweeps[axis].n) {
        pk_fail(err, PK_E_USAGE, "axis %s is given twice", axes[axis].name);
        pk_why(err, "%s adds to values that were given before", assignment);
        return pk_fix(err, "write all values in one place, with commas: %s=A,B", axes[axis].name);
    }
    sweeps[axis] = sweep;
    return PK_OK;
}

enum pk_code pk_block_parse(const struct pk_axis *axes, const char *text, struct pk_arena *a,
                            struct pk_sweep *sweeps, struct pk_err *err)
{
    for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        enum pk_code rc = pk_block_assign(axes, pk_strndup(a, at, len), a, sweeps, err);
        if (rc)
            return rc;
        at += len;
    }
    return PK_OK;
}
