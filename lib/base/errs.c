/* Errs: a list that grows. */
#include "base/errs.h"

void pk_errs_add(struct pk_errs *l, const struct pk_err *err)
{
    l->v = pk_grow(l->arena, l->v, sizeof *l->v, l->n, &l->cap);
    l->v[l->n++] = *err;
}
