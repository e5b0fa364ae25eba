/* Grid: blocks of sweeps expanded to the points they span. */
#include "base/err.h"
#include "base/index.h"
#include "opt/axis.h"

#include <string.h>

/* What the recursion over axes carries. */
struct expansion {
    const struct pk_grid *grid;
    const struct pk_sweep *block;
    struct pk_arena *arena;
    struct pk_point at;                    /* axes below the current one are not set yet */
    bool composites;                       /* some axis sets others' defaults: they depend on the point */
    struct pk_sweep defaults[PK_AXES_MAX]; /* parsed once when they do not */
    struct pk_point *points;
    size_t n, cap;
    size_t *slots, n_slots; /* hash table of points: index + 1, 0 = free; n_slots a power of two */
    struct pk_err *err;
};

static bool same_point(const struct pk_point *p, const struct pk_point *q)
{
    for (size_t i = 0; i < p->n; i++)
        if (pk_point_has(p, i) != pk_point_has(q, i) ||
            (pk_point_has(p, i) && !pk_axis_same(&p->axes[i], p->v[i], q->v[i])))
            return false;
    return true;
}

/* Over the bits of the values, or what counts of a file. */
static uint64_t hash_point(const struct pk_point *p)
{
    uint64_t h = PK_FNV1A_EMPTY;
    for (size_t i = 0; i < p->n; i++) {
        if (!pk_point_has(p, i))
            continue;
        const char *file = p->axes[i].type == PK_AXIS_FILE ? pk_axis_file_name(p->v[i]) : NULL;
        h = file ? pk_fnv1a(h, file, strlen(file)) : pk_fnv1a(h, &p->v[i], sizeof p->v[i]);
    }
    return h;
}

static size_t *slot_of(const struct expansion *x, const struct pk_point *p)
{
    size_t k = hash_point(p) & (x->n_slots - 1);
    while (x->slots[k] && !same_point(&x->points[x->slots[k] - 1], p))
        k = (k + 1) & (x->n_slots - 1);
    return &x->slots[k];
}

static void more_slots(struct expansion *x)
{
    x->n_slots = x->n_slots ? x->n_slots * 4 : 64;
    x->slots = pk_new_n(x->arena, size_t, x->n_slots);
    for (size_t i = 0; i < x->n; i++)
        *slot_of(x, &x->points[i]) = i + 1;
}

static enum pk_code add_point(struct expansion *x)
{
    if (x->n * 2 >= x->n_slots)
        more_slots(x);
    size_t *slot = slot_of(x, &x->at);
    if (*slot)
        return PK_OK;
    if (x->n == PK_POINTS_MAX) {
        pk_fail(x->err, PK_E_USAGE, "the sweeps span more than %d points", PK_POINTS_MAX);
        pk_why(x->err, "a run measures every combination of the values of all axes");
        return pk_fix(x->err, "sweep fewer axes, or in larger steps");
    }
    x->points = pk_grow(x->arena, x->points, sizeof *x->points, x->n, &x->cap);
    x->points[x->n++] = x->at;
    *slot = x->n;
    return PK_OK;
}

static enum pk_code default_of(struct expansion *x, size_t i, struct pk_sweep *s)
{
    if (x->composites || !x->defaults[i].n)
        if (pk_axis_default(x->grid->axes, i, &x->at, x->arena, &x->defaults[i], x->err))
            return x->err->code;
    *s = x->defaults[i];
    return PK_OK;
}

static enum pk_code expand_axis(struct expansion *x, size_t i)
{
    const struct pk_axis *axes = x->grid->axes;
    if (i == x->grid->n_axes)
        return add_point(x);
    x->at.v[i] = (union pk_value){0};
    x->at.absent[i] = axes[i].applies && !axes[i].applies(&x->at);
    if (x->at.absent[i])
        return expand_axis(x, i + 1);
    struct pk_sweep s = x->block[i];
    if (!s.n && default_of(x, i, &s))
        return x->err->code;
    for (size_t k = 0; k < s.n; k++) {
        x->at.v[i] = s.v[k];
        if (expand_axis(x, i + 1))
            return x->err->code;
    }
    return PK_OK;
}

enum pk_code pk_grid_expand(const struct pk_grid *g, struct pk_arena *a, struct pk_point **points, size_t *n,
                            struct pk_err *err)
{
    pk_assert(g->n_axes == pk_axes_count(g->axes));
    struct expansion x = {.grid = g, .arena = a, .at = {.axes = g->axes, .n = g->n_axes}, .err = err};
    for (size_t i = 0; i < g->n_axes; i++)
        x.composites |= g->axes[i].sets != NULL;
    for (size_t b = 0; b < g->n_blocks; b++) {
        x.block = g->sweeps[b];
        if (expand_axis(&x, 0))
            return err->code;
    }
    *points = x.points;
    *n = x.n;
    return PK_OK;
}
